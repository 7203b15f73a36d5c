// A pass of MindSpore's own optimiser: silu(gate) * up of a compiled graph becomes our kernel, in whatever network it is.
// LIBRARY is "path.so:function", as ops.Custom takes it.
#include "mindspore/ccsrc/include/backend/common/pass_manager/pattern_to_pattern.h"
#include "mindspore/ccsrc/include/utils/custom_pass/custom_pass_plugin.h"

namespace mindspore {
namespace opt {

class SwiGLUPass : public PatternToPatternPass {
public:
    SwiGLUPass() : PatternToPatternPass("workbook_swiglu") {}

    void DefineSrcPattern(SrcPattern* pattern) override {
        pattern->AddVar("gate").AddVar("up");
        pattern->AddCNode("silu", {std::make_shared<Primitive>("SiLU"), "gate"});
        pattern->AddCNode("mul", {std::make_shared<Primitive>("Mul"), "silu", "up"});
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
};

class WorkbookPasses : public CustomPassPlugin {
public:
    std::string GetPluginName() const override { return "workbook"; }
    std::vector<std::string> GetAvailablePassNames() const override { return {"workbook_swiglu"}; }
    std::shared_ptr<Pass> CreatePass(const std::string& name) const override {
        return name == "workbook_swiglu" ? std::make_shared<SwiGLUPass>() : nullptr;
    }
};

}  // namespace opt
}  // namespace mindspore

EXPORT_CUSTOM_PASS_PLUGIN(mindspore::opt::WorkbookPasses)
