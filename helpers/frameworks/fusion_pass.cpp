// A pass of MindSpore's own optimiser: silu(gate) * up of a compiled graph becomes our kernel, in whatever network it is.
// A pattern has its inputs in one order. So there are two passes: one for silu(gate) * up, and one for up * silu(gate).
// LIBRARY is "path.so:function", as ops.Custom takes it.
#include "mindspore/ccsrc/include/backend/common/pass_manager/pattern_to_pattern.h"
#include "mindspore/ccsrc/include/utils/custom_pass/custom_pass_plugin.h"

namespace mindspore {
namespace opt {

class SwiGLUPass : public PatternToPatternPass {
public:
    SwiGLUPass(const std::string& name, bool siluFirst) : PatternToPatternPass(name), siluFirst_(siluFirst) {}

    void DefineSrcPattern(SrcPattern* pattern) override {
        pattern->AddVar("gate").AddVar("up");
        pattern->AddCNode("silu", {std::make_shared<Primitive>("SiLU"), "gate"});
        auto mul = std::make_shared<Primitive>("Mul");
        if (siluFirst_) pattern->AddCNode("mul", {mul, "silu", "up"});
        else pattern->AddCNode("mul", {mul, "up", "silu"});
    }

    // Here every tensor has a shape and a type: ours takes two that are alike.
    bool CheckMatchedDAG(const PatternMap& found, const FuncGraphPtr&, const AnfNodePtr&) const override {
        auto gate = tensor(found, "gate"), up = tensor(found, "up");
        if (!gate || !up || gate->BuildShape()->IsDynamic() || *gate->BuildShape() != *up->BuildShape()) return false;
        auto type = gate->element()->BuildType()->type_id();
        return type == up->element()->BuildType()->type_id() && (type == kNumberTypeFloat32 || type == kNumberTypeFloat16 || type == kNumberTypeBFloat16);
    }

    void DefineDstPattern(DstPattern* pattern) override {
        pattern->AddCNode("swiglu", {std::make_shared<Primitive>("Custom"), "gate", "up"}, [](const PatternMap& found, const AnfNodePtr& made) {
            auto custom = std::make_shared<Primitive>("Custom");
            custom->AddAttr("func_type", MakeValue(std::string("aot")));
            custom->AddAttr("func_name", MakeValue(std::string(LIBRARY)));
            custom->AddAttr("uniq_name", MakeValue(std::string("Custom__" LIBRARY)));
            custom->AddAttr("multi_output", MakeValue(false));
            made->cast<CNodePtr>()->set_input(0, NewValueNode(custom));
            made->set_abstract(found.Get("mul")->abstract());       // shape and type stay what they were
            return made;
        });
    }

private:
    static abstract::AbstractTensorPtr tensor(const PatternMap& found, const char* name) {
        auto known = found.Get(name)->abstract();
        return known ? known->cast<abstract::AbstractTensorPtr>() : nullptr;
    }

    bool siluFirst_;
};

class WorkbookPasses : public CustomPassPlugin {
public:
    std::string GetPluginName() const override { return "workbook"; }
    std::vector<std::string> GetAvailablePassNames() const override { return {"workbook_swiglu", "workbook_swiglu_swapped"}; }
    std::shared_ptr<Pass> CreatePass(const std::string& name) const override {
        if (name == "workbook_swiglu") return std::make_shared<SwiGLUPass>(name, true);
        if (name == "workbook_swiglu_swapped") return std::make_shared<SwiGLUPass>(name, false);
        return nullptr;
    }
};

}  // namespace opt
}  // namespace mindspore

EXPORT_CUSTOM_PASS_PLUGIN(mindspore::opt::WorkbookPasses)
