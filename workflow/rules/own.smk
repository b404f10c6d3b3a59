# Experiments without a table or figure: each is a target. (After all other rules, whose names are
# taken.)

check_own()

for EXPERIMENT in OWN:

    rule:
        name:
            EXPERIMENT
        input:
            tidy_table(PLAN.tier, EXPERIMENT),

    workflow.get_rule(EXPERIMENT).docstring = (
        f"The runs of training.{EXPERIMENT}, with their metrics in one tidy table."
    )
