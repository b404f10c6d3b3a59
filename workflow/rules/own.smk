# Experiments of one's own: each is a target, by its name. (After all other rules, whose names they
# can't have.)

check_own()

for EXPERIMENT in OWN:

    rule:
        name:
            EXPERIMENT
        input:
            tidy_table(PLAN.tier, EXPERIMENT),

    workflow.get_rule(EXPERIMENT).docstring = (
        f"The runs of training.{EXPERIMENT}, and their metrics in one tidy table."
    )
