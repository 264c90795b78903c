"""The Perfetto trace, read with Perfetto's own message definitions (package `perfetto`), against the events it was made
from."""

import json
import os
import pathlib
import subprocess

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

WRITE_VIEWS = pathlib.Path(os.environ["KILN_BUILD_DIR"]) / "tests" / "views" / "write_views"
Event = protos.TrackEvent


class Decoded:
    """Slices, flows and counters of a trace, with interned data resolved."""

    def __init__(self, trace):
        self.tracks, self.parents, self.counters, self.slices = {}, {}, {}, []
        names, places, texts, keys = {}, {}, {}, {}
        self.process = None
        open_slices = {}
        for packet in trace.packet:
            assert packet.trusted_packet_sequence_id == 1
            for entry in packet.interned_data.event_names:
                names[entry.iid] = entry.name
            for entry in packet.interned_data.source_locations:
                places[entry.iid] = (entry.file_name, entry.line_number)
            for entry in packet.interned_data.debug_annotation_string_values:
                texts[entry.iid] = entry.str.decode()
            for entry in packet.interned_data.debug_annotation_names:
                keys[entry.iid] = entry.name
            if packet.HasField("track_descriptor"):
                track = packet.track_descriptor
                if track.HasField("process"):
                    self.process = track.process.process_name
                else:
                    self.tracks[track.uuid] = track.name
                    self.parents[track.uuid] = track.parent_uuid
                    if track.HasField("counter"):
                        self.counters[track.uuid] = (track.counter.unit_name, [])
            if not packet.HasField("track_event"):
                continue
            event = packet.track_event
            stack = open_slices.setdefault(event.track_uuid, [])
            if event.type == Event.TYPE_SLICE_BEGIN:
                assert not stack, "rows do not overlap"
                arguments = {}
                for a in event.debug_annotations:
                    arguments[keys[a.name_iid]] = texts[a.string_value_iid] if a.string_value_iid else a.double_value
                stack.append({"track": event.track_uuid, "name": names[event.name_iid],
                              "place": places[event.source_location_iid], "begin": packet.timestamp,
                              "arguments": arguments, "starts": list(event.flow_ids),
                              "ends": list(event.terminating_flow_ids)})
            elif event.type == Event.TYPE_SLICE_END:
                self.slices.append({**stack.pop(), "end": packet.timestamp})
            else:
                assert event.type == Event.TYPE_COUNTER
                self.counters[event.track_uuid][1].append((packet.timestamp, event.double_counter_value))
        assert not any(open_slices.values())

    def lane(self, uuid):
        """The name of the engine or queue: rows beyond the first hang below it."""
        parent = self.parents[uuid]
        return self.tracks.get(parent, self.tracks[uuid])


def parse(data):
    trace = protos.Trace()
    trace.ParseFromString(data)
    trace.DiscardUnknownFields()
    assert trace.ByteSize() == len(data), "every field is one that Perfetto knows, written the shortest way"
    return trace


@pytest.fixture(scope="module", params=[0, 1, 200, 3000])
def run(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trace")
    seed = int(os.environ["KILN_SEED"]) % 2**31
    print(f"seed {seed}")
    subprocess.run([WRITE_VIEWS, str(request.param), str(seed), folder], check=True)
    trace = parse((folder / "made.perfetto-trace").read_bytes())
    return Decoded(trace), json.loads((folder / "expected.json").read_text())


def ns(picoseconds):
    """Whole ns, halves away from zero as llround does."""
    return (picoseconds + 500) // 1000


def test_every_event_is_a_slice(run):
    decoded, expected = run
    shown = sorted((decoded.lane(s["track"]), s["begin"], s["end"], s["name"], s["place"]) for s in decoded.slices)
    made = sorted((e["lane"], ns(e["start_ps"]), ns(e["start_ps"] + e["occupied_ps"]), e["name"],
                   ("made.kiln", e["line"])) for e in expected["events"])
    assert shown == made


def test_exact_times_and_instruction_stand_in_the_arguments(run):
    decoded, expected = run
    shown = sorted((round(s["arguments"]["start_ns"] * 1000), round(s["arguments"]["duration_ns"] * 1000))
                   for s in decoded.slices)
    assert shown == sorted((e["start_ps"], e["occupied_ps"]) for e in expected["events"])
    for s in decoded.slices:
        assert s["arguments"]["instruction"].startswith(s["name"] + "(")


def test_flows_are_the_dependencies(run):
    decoded, expected = run
    sources, targets = {}, {}
    for s in decoded.slices:
        for flow in s["starts"]:
            sources[flow] = s
        for flow in s["ends"]:
            targets[flow] = s
    assert sources.keys() == targets.keys()

    def key(s):
        return round(s["arguments"]["start_ns"] * 1000)

    shown = sorted((key(sources[flow]), key(targets[flow])) for flow in sources)
    events = expected["events"]
    made = sorted((events[e["because"]]["start_ps"], e["start_ps"]) for e in events
                  if e["because"] >= 0 and e["wait"] != "engine")
    assert shown == made


def test_counters(run):
    decoded, expected = run
    counters = {decoded.tracks[uuid]: values for uuid, (_, values) in decoded.counters.items()}
    assert set(counters) == {"SBUF", "PSUM", "HBM"}
    for name in ["SBUF", "PSUM"]:
        assert counters[name] == [(ns(m["at_ps"]), m[name.lower()]) for m in expected["memory"]]
    total = expected["total_ps"] / 1000
    starts = [at for at, _ in counters["HBM"]]
    moved = sum(value * (end - at) for (at, value), end in zip(counters["HBM"], [*starts[1:], total]))
    assert moved == pytest.approx(sum(e["hbm_bytes"] for e in expected["events"]), rel=1e-3, abs=1)


def test_process_names_the_program(run):
    assert run[0].process == "made </script> on trn2"


PROGRAM = """kiln 1
program "p" target trn2
tensor x: input hbm float32 [128, 16384]
tensor y: output shared_hbm float32 [128, 16384]
loop i = 0 .. {} {{
  tensor t: sbuf float32 [128, 64]
  dma_copy(dst=t, src=x.ap([[16384, 128], [1, 64]], offset=64*i))
  activation(dst=t, op=exp, data=t)
  dma_copy(dst=y.ap([[16384, 128], [1, 64]], offset=64*i), src=t)
}}
"""


@pytest.fixture(scope="module", params=[1, 256])
def packets(request, tmp_path_factory):
    """The packets of a trace that `kiln time` wrote."""
    folder = tmp_path_factory.mktemp("timed")
    (folder / "p.kiln").write_text(PROGRAM.format(request.param))
    kiln = pathlib.Path(os.environ["KILN_BUILD_DIR"]) / "cli" / "kiln"
    subprocess.run([kiln, "time", "p.kiln", "--no-advice", "--trace", "p.perfetto-trace"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    return parse((folder / "p.perfetto-trace").read_bytes()).packet


def test_interned_data_come_before_their_use_and_are_declared_needed(packets):
    cleared, known = False, {"name": set(), "place": set(), "key": set(), "text": set()}
    for packet in packets:
        if packet.sequence_flags & protos.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
            assert not cleared, "the state is cleared once, at the beginning"
            cleared = True
        data = packet.interned_data
        for table, entries in [("name", data.event_names), ("place", data.source_locations),
                               ("key", data.debug_annotation_names), ("text", data.debug_annotation_string_values)]:
            iids = [entry.iid for entry in entries]
            assert 0 not in iids and len(set(iids)) == len(iids) and not known[table].intersection(iids)
            known[table].update(iids)
        event = packet.track_event
        used = [("name", event.name_iid), ("place", event.source_location_iid)]
        for a in event.debug_annotations:
            used += [("key", a.name_iid), ("text", a.string_value_iid)]
        used = [(table, iid) for table, iid in used if iid]
        if used:
            assert cleared and packet.sequence_flags & protos.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        for table, iid in used:
            assert iid in known[table]


def test_tracks_are_described_before_their_events_and_below_their_parents(packets):
    described, ranks = {}, set()
    for packet in packets:
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid and track.uuid not in described
            if not track.HasField("process"):
                assert track.parent_uuid in described
                assert (track.parent_uuid, track.sibling_order_rank) not in ranks
                ranks.add((track.parent_uuid, track.sibling_order_rank))
            described[track.uuid] = track
        if packet.HasField("track_event"):
            track = described[packet.track_event.track_uuid]
            assert track.HasField("counter") == (packet.track_event.type == Event.TYPE_COUNTER)


def test_times_of_a_track_do_not_go_back(packets):
    last = {}
    for packet in packets:
        assert not packet.HasField("timestamp_clock_id"), "the default clock, in ns"
        if packet.HasField("track_event"):
            assert packet.timestamp >= last.get(packet.track_event.track_uuid, 0)
            last[packet.track_event.track_uuid] = packet.timestamp
    assert len(last) > 4


def test_flows_begin_once_end_once_and_go_forward(packets):
    begin, end = {}, {}
    for packet in packets:
        for ids, times in [(packet.track_event.flow_ids, begin), (packet.track_event.terminating_flow_ids, end)]:
            for flow in ids:
                assert flow and flow not in times
                times[flow] = packet.timestamp
    assert begin.keys() == end.keys() != set()
    assert all(begin[flow] <= end[flow] for flow in begin)
