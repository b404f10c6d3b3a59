# Tables: a thin notebook each, which reads tidy metrics and the paper's numbers.


rule table1:
    """Table 1: test accuracy by topology and protocol, beside the paper's; its claims."""
    input:
        metrics="results/metrics/table1.parquet",
        reference="config/reference/table1_classification.csv",
        notebook="notebooks/table1.ipynb",
        code=get_code("ngo.results", "ngo.tables"),
    output:
        multiext("results/tables/table1", ".csv", ".md", ".tex"),
        multiext("results/tables/table1_claims", ".csv", ".md", ".tex"),
    log:
        notebook="logs/notebooks/table1.ipynb",
        messages="logs/notebooks/table1.log",
    params:
        tier=PLAN.tier,
        code=get_code_fingerprint("ngo.results", "ngo.tables"),
    shell:
        "ngo notebook {input.notebook} --out {log.notebook} -p metrics={input.metrics}"
        " -p reference={input.reference} -p tier={params.tier}"
        " -p out=results/tables/table1 > {log.messages} 2>&1"


rule tableS1:
    """Table S1: degree and spectral gap by topology and n, beside the paper's."""
    input:
        spectra="results/metrics/spectra_tableS1.parquet",
        reference="config/reference/tableS1_spectral_gap.csv",
        notebook="notebooks/tableS1.ipynb",
        code=get_code("ngo.results", "ngo.tables"),
    output:
        multiext("results/tables/tableS1", ".csv", ".md", ".tex"),
    log:
        notebook="logs/notebooks/tableS1.ipynb",
        messages="logs/notebooks/tableS1.log",
    params:
        tier=PLAN.tier,
        code=get_code_fingerprint("ngo.results", "ngo.tables"),
    shell:
        "ngo notebook {input.notebook} --out {log.notebook} -p spectra={input.spectra}"
        " -p reference={input.reference} -p tier={params.tier}"
        " -p out=results/tables/tableS1 > {log.messages} 2>&1"


rule tables:
    """Every table."""
    input:
        rules.table1.output,
        rules.tableS1.output,
