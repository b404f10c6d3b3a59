# Tables and figures: a thin notebook each, which reads tidy metrics and the paper's numbers.


for ARTEFACT, ENTRY in ARTEFACTS.items():

    rule:
        name:
            ARTEFACT
        input:
            **ENTRY.inputs,
            notebook=get_notebook(ARTEFACT),
            code=get_code(get_notebook(ARTEFACT)),
        output:
            [
                get_reported(path, ARTEFACT, ENTRY.section, ENTRY.title)
                for path in ENTRY.outputs
            ],
        log:
            notebook=f"logs/notebooks/{ARTEFACT}.ipynb",
            messages=f"logs/notebooks/{ARTEFACT}.log",
        params:
            values=get_notebook_values(ARTEFACT),
            code=get_code_fingerprint(get_notebook(ARTEFACT)),
        shell:
            "ngo notebook {input.notebook} --out {log.notebook} {params.values:q}"
            " > {log.messages} 2>&1"

    workflow.get_rule(ARTEFACT).docstring = f"{ENTRY.title}."


rule assumptions:
    """Every value that the paper does not state, with the reason for it."""
    input:
        configs=CONFIGS,
        code=get_code("ngo.assumptions"),
    output:
        md="results/tables/assumptions.md",
        html=get_reported(
            "results/tables/assumptions.html",
            "assumptions",
            BEYOND,
            "Every value that the paper does not state",
        ),
    log:
        "logs/assumptions.log",
    params:
        flags=get_flags({"config": CONFIGS}),
        code=get_code_fingerprint("ngo.assumptions"),
    shell:
        "ngo assumptions {params.flags:q} --out {output.md} --out {output.html} > {log} 2>&1"


rule tables:
    """Every table."""
    input:
        [path for entry in ARTEFACTS.values() if entry.tables for path in entry.outputs],
        rules.assumptions.output,


rule figures:
    """Every figure."""
    input:
        [
            path
            for entry in ARTEFACTS.values()
            if entry.figures
            for path in entry.outputs
        ],
