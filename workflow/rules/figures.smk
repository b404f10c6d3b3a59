# Figures: a thin notebook each, which reads tidy metrics.


rule fig3:
    """Figure 3: consensus with sublinear, linear and superlinear coupling."""
    input:
        trajectories="results/metrics/consensus_fig3.parquet",
        notebook="notebooks/fig3.ipynb",
        code=get_code("ngo.plots"),
    output:
        multiext("results/figures/fig3", ".png", ".pdf", ".csv"),
    log:
        notebook="logs/notebooks/fig3.ipynb",
        messages="logs/notebooks/fig3.log",
    params:
        tier=PLAN.tier,
        share=PLAN.consensus["fig3"]["consensus_share"],
        code=get_code_fingerprint("ngo.plots"),
    shell:
        "ngo notebook {input.notebook} --out {log.notebook} -p trajectories={input.trajectories}"
        " -p share={params.share} -p tier={params.tier}"
        " -p out=results/figures/fig3 > {log.messages} 2>&1"


rule figS2:
    """Figure S2: samples per class and worker of each non-iid partition."""
    input:
        classes="results/metrics/classes_figS2.parquet",
        notebook="notebooks/figS2.ipynb",
        code=get_code("ngo.plots"),
    output:
        multiext("results/figures/figS2", ".png", ".pdf", ".csv"),
    log:
        notebook="logs/notebooks/figS2.ipynb",
        messages="logs/notebooks/figS2.log",
    params:
        tier=PLAN.tier,
        code=get_code_fingerprint("ngo.plots"),
    shell:
        "ngo notebook {input.notebook} --out {log.notebook} -p classes={input.classes}"
        " -p tier={params.tier} -p out=results/figures/figS2 > {log.messages} 2>&1"


rule figures:
    """Every figure."""
    input:
        rules.fig3.output,
        rules.figS2.output,
