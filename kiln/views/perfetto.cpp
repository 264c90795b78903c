#include "kiln/views/perfetto.h"

#include <map>

#include "kiln/views/wire.h"

namespace kiln::views {
namespace {

// Field numbers of perfetto's public protos (protos/perfetto/trace/**/*.proto).
namespace trace {
enum { packet = 1 };
}
namespace packet {
enum { timestamp = 8, sequence_id = 10, track_event = 11, interned_data = 12, sequence_flags = 13 };
enum { track_descriptor = 60 };
}  // namespace packet
namespace descriptor {
enum { uuid = 1, name = 2, process = 3, parent_uuid = 5, counter = 8, child_ordering = 11, rank = 12 };
}
namespace process {
enum { pid = 1, name = 6 };
}
namespace counter {
enum { unit_name = 6 };
}
namespace event {
enum { annotation = 4, type = 9, name_iid = 10, track_uuid = 11, category = 22, source_iid = 34 };
enum { counter_value = 44, flow_id = 47, terminating_flow_id = 48 };
}  // namespace event
namespace annotation {
enum { name_iid = 1, real = 5, text_iid = 17 };
}
namespace interned {
enum { event_name = 2, annotation_name = 3, source = 4, annotation_text = 29 };
enum { iid = 1, text = 2, line = 4 };
}  // namespace interned

enum EventType { kBegin = 1, kEnd = 2, kCounter = 4 };
enum SequenceFlag { kStateCleared = 1, kNeedsState = 2 };
constexpr int kExplicitOrder = 3;  // children in the order of their rank
constexpr std::uint64_t kSequence = 1, kProcessUuid = 1, kPid = 1;
enum AnnotationName { kInstruction = 1, kStartNs, kDurationNs, kWaitNs, kWaitedFor, kOnCriticalPath };
constexpr const char* kAnnotationNames[] = {"instruction", "start_ns",   "duration_ns",
                                            "wait_ns",     "waited_for", "critical_path"};

// Rounding keeps order, so slices that do not overlap still do not.
std::uint64_t whole_ns(timing::Time t) {
  return static_cast<std::uint64_t>((t + timing::kPicoseconds / 2) / timing::kPicoseconds);
}

class Writer {
 public:
  explicit Writer(const Picture& picture) : picture_(picture) {}

  std::string write() {
    describe_process();
    intern();
    collect_flows();
    std::uint64_t rank = 0;
    for (std::uint32_t t = 0; t < picture_.tracks.size(); ++t) write_track(t, rank++);
    for (const Curve& curve : picture_.curves) write_curve(curve, rank++);
    return std::move(out_).bytes();
  }

 private:
  void add_packet(Message& packet) {
    packet.varint(packet::sequence_id, kSequence);
    out_.message(trace::packet, packet);
  }

  void describe(const Message& descriptor) {
    Message packet;
    packet.message(packet::track_descriptor, descriptor);
    add_packet(packet);
  }

  void describe_process() {
    Message process, descriptor;
    process.varint(process::pid, kPid);
    process.text(process::name, picture_.title);
    descriptor.varint(descriptor::uuid, kProcessUuid);
    descriptor.message(descriptor::process, process);
    descriptor.varint(descriptor::child_ordering, kExplicitOrder);
    describe(descriptor);
  }

  static void intern_text(Message& data, int field, std::uint64_t iid, std::string_view text) {
    Message entry;
    entry.varint(interned::iid, iid);
    entry.text(interned::text, text);
    data.message(field, entry);
  }

  // Names, places and texts are written once; slices refer to them. Entry i of a table has iid i + 1.
  void intern() {
    Message data, packet;
    std::uint64_t iid = 0;
    for (const char* name : kAnnotationNames) intern_text(data, interned::annotation_name, ++iid, name);
    for (std::size_t i = 0; i < picture_.labels.size(); ++i) {
      const Label& label = picture_.labels[i];
      intern_text(data, interned::event_name, i + 1, label.name);
      intern_text(data, interned::annotation_text, i + 1, label.detail);
      Message place;
      place.varint(interned::iid, i + 1);
      place.text(interned::text, label.file);
      place.varint(interned::line, static_cast<std::uint64_t>(label.line));
      data.message(interned::source, place);
    }
    for (std::size_t i = 0; i < picture_.causes.size(); ++i)
      intern_text(data, interned::annotation_text, cause_iid(i), picture_.causes[i]);
    packet.varint(packet::sequence_flags, kStateCleared);
    packet.message(packet::interned_data, data);
    add_packet(packet);
  }

  std::uint64_t cause_iid(std::size_t cause) const { return picture_.labels.size() + cause + 1; }

  static std::uint64_t key(const SliceRef& s) {
    return static_cast<std::uint64_t>(s.track) << 52 | static_cast<std::uint64_t>(s.row) << 32 | s.slice;
  }

  void collect_flows() {
    std::uint64_t id = 0;
    for (const Flow& flow : picture_.flows) {
      ++id;
      starts_[key(flow.from)].push_back(id);
      ends_[key(flow.to)].push_back(id);
    }
  }

  std::uint64_t describe_track(const std::string& name, std::uint64_t parent, std::uint64_t rank,
                               const Message* counter = nullptr) {
    Message descriptor;
    const std::uint64_t uuid = ++last_uuid_;
    descriptor.varint(descriptor::uuid, uuid);
    descriptor.text(descriptor::name, name);
    descriptor.varint(descriptor::parent_uuid, parent);
    if (counter) descriptor.message(descriptor::counter, *counter);
    descriptor.varint(descriptor::rank, rank);
    describe(descriptor);
    return uuid;
  }

  // Slices of one Perfetto track nest, so every further row is a track below the first one.
  void write_track(std::uint32_t t, std::uint64_t rank) {
    const Track& track = picture_.tracks[t];
    const std::uint64_t first = describe_track(track.name, kProcessUuid, rank);
    for (std::uint32_t r = 0; r < track.rows.size(); ++r) {
      const std::uint64_t uuid = r == 0 ? first : describe_track(track.name + ", overlapping", first, r);
      for (std::uint32_t s = 0; s < track.rows[r].size(); ++s) write_slice({t, r, s}, uuid);
    }
  }

  void write_event(Message& event, EventType type, std::uint64_t track, timing::Time at) {
    Message packet;
    event.varint(event::type, type);
    event.varint(event::track_uuid, track);
    packet.varint(packet::timestamp, whole_ns(at));
    packet.message(packet::track_event, event);
    packet.varint(packet::sequence_flags, kNeedsState);
    add_packet(packet);
  }

  static void annotate(Message& event, AnnotationName name, double value) {
    Message annotation;
    annotation.varint(annotation::name_iid, name);
    annotation.real(annotation::real, value);
    event.message(event::annotation, annotation);
  }
  static void annotate_text(Message& event, AnnotationName name, std::uint64_t text_iid) {
    Message annotation;
    annotation.varint(annotation::name_iid, name);
    annotation.varint(annotation::text_iid, text_iid);
    event.message(event::annotation, annotation);
  }

  void write_slice(const SliceRef& at, std::uint64_t uuid) {
    const Slice& slice = picture_.tracks[at.track].rows[at.row][at.slice];
    Message begin, end;
    begin.varint(event::name_iid, slice.label + 1);
    begin.text(event::category, slice.critical ? "critical_path" : "instruction");
    begin.varint(event::source_iid, slice.label + 1);
    annotate_text(begin, kInstruction, slice.label + 1);
    annotate(begin, kStartNs, timing::to_ns(slice.start));
    annotate(begin, kDurationNs, timing::to_ns(slice.duration));
    if (slice.cause) {
      annotate(begin, kWaitNs, timing::to_ns(slice.wait));
      annotate_text(begin, kWaitedFor, cause_iid(slice.cause));
    }
    if (slice.critical) annotate(begin, kOnCriticalPath, 1);
    add_flows(begin, event::flow_id, starts_, at);
    add_flows(begin, event::terminating_flow_id, ends_, at);
    write_event(begin, kBegin, uuid, slice.start);
    write_event(end, kEnd, uuid, slice.start + slice.duration);
  }

  using FlowIds = std::map<std::uint64_t, std::vector<std::uint64_t>>;
  static void add_flows(Message& event, int field, const FlowIds& ids, const SliceRef& at) {
    const auto found = ids.find(key(at));
    if (found == ids.end()) return;
    for (const std::uint64_t id : found->second) event.fixed64(field, id);
  }

  void write_curve(const Curve& curve, std::uint64_t rank) {
    Message unit;
    unit.text(counter::unit_name, curve.unit);
    const std::uint64_t uuid = describe_track(curve.name, kProcessUuid, rank, &unit);
    for (const Point& point : curve.points) {
      Message event;
      event.real(event::counter_value, point.value);
      write_event(event, kCounter, uuid, point.at);
    }
  }

  const Picture& picture_;
  Message out_;
  FlowIds starts_, ends_;
  std::uint64_t last_uuid_ = kProcessUuid;
};

}  // namespace

std::string to_perfetto(const Picture& picture) { return Writer(picture).write(); }

}  // namespace kiln::views
