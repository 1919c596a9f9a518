// What no template carries yet, refused by name and place.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "emit/emit.h"
#include "schedule/resources.h"
#include "schedule/units.h"

namespace attngen::emit {
namespace {

constexpr int kLargestHeadDimCdna2 = 256;  // of accumulators that fit a wave
constexpr int kLargestHeadDim = 512;       // two wgmma accumulators of values
constexpr int kLargestSharedKey = 576;     // of keys whose first columns are values
constexpr int kOneAccumulator = 256;       // of values: two maps, lists of tokens, shared keys

class Support {
 public:
  Support(const spec::Spec& spec, const target::Target& target, text::Diagnostics& diagnostics)
      : spec_(spec), target_(target), diagnostics_(diagnostics) {}

  bool check() {
    check_family();
    check_passes();
    check_features();
    return supported_;
  }

 private:
  void refuse(std::string_view pointer, std::string message, std::string help = {}) {
    supported_ = false;
    diagnostics_.add(
        spec_.locations.at(diagnostics_.source(), pointer, std::move(message), std::move(help)));
  }
  void not_emitted(std::string_view pointer, std::string_view what, std::string help = {}) {
    refuse(pointer, fmt::format("{} not emitted yet for {}", what, target_.name), std::move(help));
  }

  void check_family() {
    if (target_.family != target::Family::Ampere) return;
    const auto at = std::find(spec_.targets.begin(), spec_.targets.end(), target_.name);
    const std::string pointer = at == spec_.targets.end()
                                    ? "/targets"
                                    : fmt::format("/targets/{}", at - spec_.targets.begin());
    refuse(pointer, fmt::format("no kernels are emitted yet for {}", target_.name),
           fmt::format("targets that have kernels: {}",
                       fmt::join(target::names_with_kernels(), ", ")));
  }

  void check_passes() {
    for (size_t i = 0; i < spec_.passes.size(); ++i) {
      if (spec_.passes[i] == spec::Pass::Forward) continue;
      not_emitted(fmt::format("/passes/{}", i),
                  fmt::format("pass '{}' is", spec::name_of(spec_.passes[i])),
                  help_on_pass(spec_.passes[i]));
    }
  }

  std::string help_on_pass(spec::Pass pass) const {
    if (pass != spec::Pass::Decode) return "";
    return target_.family == target::Family::Hopper
               ? "pass 'forward' splits the keys if the workload has seq_q: 1"
               : "pass 'forward' takes one query too";
  }

  void check_features() {
    if (spec_.pattern == spec::Pattern::Recurrent) {
      // The rest of a recurrent spec has no meaning for the parallel kernels.
      return not_emitted("/pattern", "pattern 'recurrent' is",
                         "pattern parallel has decays, and gates of each token: see linear "
                         "attention in docs/spec.md");
    }
    const bool hopper = target_.family == target::Family::Hopper;
    if (spec_.varlen) check_varlen();
    if (spec_.v_prefix) check_share_kv(hopper);
    if (spec_.maps > 1) check_maps(hopper);
    switch (spec_.sparsity) {
      case spec::Spec::Sparsity::None:
        break;
      case spec::Spec::Sparsity::BlockBitmap:
      case spec::Spec::Sparsity::BlockIndices:
        if (!hopper && spec_.varlen) {
          not_emitted("/blocks", "block sparsity of packed sequences is");
        }
        check_blocks(hopper);
        break;
      case spec::Spec::Sparsity::TokenIndices:
        if (hopper) {
          check_tokens();
        } else {
          not_emitted("/tokens", "token sparsity is");
        }
        break;
    }
    check_head_dim("qk", spec_.head_dim.qk);
    check_head_dim("v", spec_.head_dim.v);
  }

  // Each of two warpgroups has a map of the same rows, and one of them adds up both outputs.
  void check_maps(bool hopper) {
    if (!hopper) return not_emitted("/maps", "two maps of scores are");
    const int v = spec_.head_dim.v;
    if (v <= kOneAccumulator || v > kLargestHeadDim) return;  // the latter is refused anyway
    not_emitted("/head_dim/v", fmt::format("head_dim.v {} of two maps is", v),
                fmt::format("at most {}", kOneAccumulator));
  }

  // Two warpgroups of a tile share out the columns of values that need two accumulators.
  void check_share_kv(bool hopper) {
    if (!hopper) return not_emitted("/share_kv", "share_kv is");
    if (spec_.maps > 1) not_emitted("/maps", "two maps of shared keys and values are");
    const int v = spec_.head_dim.v;
    if (v <= kOneAccumulator || v > kLargestHeadDim || schedule::has_even_sides(v)) return;
    not_emitted("/head_dim/v", fmt::format("head_dim.v {} of shared keys and values is", v),
                fmt::format("at most {}, 384 or 512", kOneAccumulator));
  }

  void check_varlen() {
    if (spec_.fixed.seq_q) not_emitted("/fixed/seq_q", "a fixed length of packed sequences is");
    if (spec_.fixed.seq_kv) not_emitted("/fixed/seq_kv", "a fixed length of packed sequences is");
  }

  // A step takes whole blocks of keys, or an even part of one. The queries of a warpgroup are those
  // of one row of blocks, or of whole rows; on CDNA2 those of a tile are of one row.
  void check_blocks(bool hopper) {
    constexpr int kRows = schedule::kWarpgroupRows;
    if (spec_.block_size % kRows != 0) {
      not_emitted("/blocks/size", fmt::format("blocks.size {} is", spec_.block_size),
                  fmt::format("multiples of {}", kRows));
    } else if (spec_.block_queries % kRows != 0 && (!hopper || kRows % spec_.block_queries != 0)) {
      not_emitted("/blocks/queries", fmt::format("blocks.queries {} is", spec_.block_queries),
                  hopper ? fmt::format("multiples of {0}, and what divides {0}", kRows)
                         : fmt::format("multiples of {}", kRows));
    }
  }

  // A tile has the heads of one query, which share a list and its mask.
  void check_tokens() {
    if (spec_.maps > 1) not_emitted("/maps", "token sparsity of two maps is");
    const int v = spec_.head_dim.v;
    if (!spec_.v_prefix && v > kOneAccumulator && v <= kLargestHeadDim) {
      not_emitted("/head_dim/v", fmt::format("head_dim.v {} beside tokens is", v),
                  fmt::format("at most {}", kOneAccumulator));
    }
    if (spec_.heads.group() > 1 && expr::mentions(spec_.token_mask, "h")) {
      not_emitted("/mask", "a mask that reads h beside tokens is",
                  "the heads of a key head share lists: h_kv tells those apart");
    }
  }

  void check_head_dim(const char* which, int dim) {
    const int largest = target_.family == target::Family::Cdna2 ? kLargestHeadDimCdna2
                        : spec_.v_prefix                        ? kLargestSharedKey
                                                                : kLargestHeadDim;
    if (dim <= largest) return;
    not_emitted(fmt::format("/head_dim/{}", which), fmt::format("head_dim.{} {} is", which, dim),
                fmt::format("at most {}{}", largest, help_on_key(which, dim)));
  }

  // Latent attention's keys are wider than any others.
  std::string help_on_key(std::string_view which, int dim) const {
    const int v = spec_.head_dim.v;
    const bool may_share = target_.family == target::Family::Hopper && !spec_.v_prefix &&
                           spec_.maps == 1 && which == "qk" && dim <= kLargestSharedKey &&
                           (v <= kOneAccumulator || schedule::has_even_sides(v));
    if (!may_share) return "";
    return fmt::format("; {} with share_kv: {{v_prefix: {}}} (latent attention)", kLargestSharedKey,
                       v);
  }

  const spec::Spec& spec_;
  const target::Target& target_;
  text::Diagnostics& diagnostics_;
  bool supported_ = true;
};

}  // namespace

bool check_supported(const spec::Spec& spec, const target::Target& target,
                     text::Diagnostics& diagnostics) {
  return Support(spec, target, diagnostics).check();
}

}  // namespace attngen::emit
