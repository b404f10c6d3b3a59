# Tables and figures: a notebook each, which reads tidy tables and the published numbers.

for TABLE in PLAN.own_tables:

    rule:
        name:
            TABLE
        input:
            tidy_table(PLAN.tier, TABLE),
        localrule: True

    get_rule(TABLE).docstring = f"The table of {TABLE}."


for ARTEFACT, ENTRY in SHOWN.items():

    rule:
        name:
            ARTEFACT
        input:
            **PLAN.inputs(ARTEFACT),
            notebook=str(ENTRY.notebook),
        output:
            get_outputs(ENTRY),
        log:
            f"logs/<tier>/notebooks/{ARTEFACT}.log",
        conda:
            ENVIRONMENT
        params:
            # It is not a log: Snakemake prints the logs of failed jobs.
            executed=f"logs/{PLAN.tier}/notebooks/{ARTEFACT}.ipynb",
            values=PLAN.notebook_flags(ARTEFACT),
            key=staleness.artefact(
                ENTRY.section, PLAN.plugins if "claims" in ENTRY.asks else ()
            ),
            text=ENTRY.text,
            plugins=get_plugins,
        shell:
            "ngo notebook {params.plugins:q} {input.notebook:q} --out {params.executed:q} {params.values:q} > {log:q} 2>&1"

    get_rule(ARTEFACT).docstring = (
        f"The experiment {ENTRY.title}."
        if ENTRY.of_experiment
        else f"{ENTRY.title}."
    )


rule assumptions:
    """List every value that the paper does not state, with the reason."""
    input:
        configs=CONFIGS,
    output:
        md="results/<tier>/tables/assumptions.md",
        html=get_reported(
            "results/<tier>/tables/assumptions.html",
            "../report/assumptions.rst",
            "Assumptions",
            "Every value that the paper does not state",
        ),
    log:
        "logs/<tier>/assumptions.log",
    conda:
        ENVIRONMENT
    params:
        flags=FLAGS,
        key=staleness.drawn(staleness.PRINTED),
        plugins=get_plugins,
    shell:
        "ngo assumptions {params.plugins:q} {params.flags:q} --out {output.md:q} --out {output.html:q} > {log:q} 2>&1"


rule tables:
    """Every table."""
    input:
        PLAN.files(entry for entry in SHOWN.values() if entry.tables),
        rules.assumptions.output,


rule figures:
    """Every figure."""
    input:
        PLAN.files(entry for entry in SHOWN.values() if entry.figure),


rule report:
    """One page of all results: verdicts, tables, figures, provenance."""
    input:
        rules.tables.input,
        rules.figures.input,
        configs=CONFIGS,
        notebooks=[str(entry.notebook) for entry in SHOWN.values()],
    output:
        "results/<tier>/report.html",
    log:
        "logs/<tier>/report.log",
    conda:
        ENVIRONMENT
    params:
        flags=FLAGS,
        key=staleness.page(PLAN.claims, PLAN.findings),
        plugins=get_plugins,
    shell:
        "ngo report {params.plugins:q} {params.flags:q} --out {output:q} > {log:q} 2>&1"
