"""nki.typing: annotations of kernel parameters. `nt.tensor[128, 512]` says what shape an argument has;
`nt.mutable_tensor[128, 512]` is one that the kernel writes."""

from kiln._trace.annotations import Annotation as _Annotation

tensor = _Annotation("tensor")
mutable_tensor = _Annotation("mutable_tensor")
