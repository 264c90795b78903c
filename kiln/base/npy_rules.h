// The rules of .npy files.
#pragma once

#include "kiln/base/rule.h"

namespace kiln::npy_rules {

inline constexpr const char* kSaveAgain = "save the array again with numpy.save";
inline constexpr const char* kCutShort = "the file is cut short: save or copy it again";

inline constexpr Rule kMagic{1, "an .npy file begins with the bytes \\x93NUMPY", "save the array with numpy.save"};
inline constexpr Rule kVersion{2, "the version of an .npy file is 1.0, 2.0 or 3.0", kSaveAgain};
inline constexpr Rule kWholeHeader{3, "an .npy file holds its whole header", kCutShort};
inline constexpr Rule kHeaderSize{4, "the header has at most 65535 bytes", kSaveAgain};
inline constexpr Rule kHeaderDict{5,
                                  "the header is a Python dict with exactly the keys descr (a string), fortran_order "
                                  "(True or False) and shape (a tuple of integers)",
                                  kSaveAgain};
inline constexpr Rule kShape{6,
                             "a shape has at most 64 dimensions, none negative, and its bytes, dimensions of 0 left "
                             "out, are fewer than 2^63",
                             kSaveAgain};
inline constexpr Rule kLittleEndian{7, "elements are little endian",
                                    "save array.astype(array.dtype.newbyteorder('<'))"};
inline constexpr Rule kElementDtype{8, "the elements of an array have a dtype of NKI",
                                    "convert with array.astype before saving"};
inline constexpr Rule kRawElements{9, "raw elements (V1, V2, V4) are read only as a dtype that the caller names",
                                   "say which dtype the file holds, or save an array of a dtype that NumPy has"};
inline constexpr Rule kExpectedDtype{10, "the file holds the dtype that the caller expects",
                                     "convert with array.astype before saving"};
inline constexpr Rule kAllElements{11, "an .npy file holds every element of its shape", kCutShort};
inline constexpr Rule kNothingAfter{12, "nothing follows the elements", "store one array in one file"};
inline constexpr Rule kDataSize{13, "an array to be written has as many bytes of data as its shape and dtype say",
                                "fill the array before writing it"};

inline constexpr Rule kRules[] = {kMagic,       kVersion,      kWholeHeader,  kHeaderSize,  kHeaderDict,
                                  kShape,       kLittleEndian, kElementDtype, kRawElements, kExpectedDtype,
                                  kAllElements, kNothingAfter, kDataSize};
inline constexpr RuleTable kTable{"npy", ".npy files", kRules, Category::config};

}  // namespace kiln::npy_rules
