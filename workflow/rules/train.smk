# One job for each run, and the runs of each experiment as one tidy table.


rule train:
    """Train one run."""
    input:
        partition=get_partition,
        code=get_code("ngo.training"),
    output:
        metrics="results/runs/{run}/metrics.parquet",
        record="results/runs/{run}/run.json",
    log:
        "logs/train/{run}.log",
    benchmark:
        "benchmarks/train/{run}.tsv"
    wildcard_constraints:
        run=get_pattern(run for run in RUNS if run not in PLAN.snapshots),
    threads: config["threads"]
    resources:
        **get_resources("train"),
        gpu=GPU,
        device=PLAN.device,
        runs_per_gpu=PLAN.runs_per_gpu,
    params:
        flags=lambda wildcards: RUNS[wildcards.run].flags(),
        code=get_code_fingerprint("ngo.training"),
    # In the place of the shell, so that a signal to the job is one to the run. What is there when a
    # job starts is out of date; a checkpoint of this run is gone on from all the same.
    shell:
        "exec ngo train {params.flags:q} --partition-file {input.partition} --device {resources.device}"
        " --runs-per-gpu {resources.runs_per_gpu} --threads {threads} --overwrite --out results/runs/{wildcards.run} > {log} 2>&1"


use rule train as train_and_keep with:
    output:
        metrics="results/runs/{run}/metrics.parquet",
        record="results/runs/{run}/run.json",
        models="results/runs/{run}/models.pt",
    wildcard_constraints:
        run=get_pattern(PLAN.snapshots),
    params:
        flags=lambda wildcards: RUNS[wildcards.run].flags()
        + get_flags({"snapshot": PLAN.snapshots[wildcards.run]}),
        code=get_code_fingerprint("ngo.training"),


rule aggregate:
    """Join the metrics of an experiment's runs into one tidy table."""
    input:
        metrics=get_experiment_metrics,
        code=get_code("ngo.results"),
    output:
        "results/<tier>/metrics/{experiment}.parquet",
    log:
        "logs/<tier>/aggregate/{experiment}.log",
    params:
        code=get_code_fingerprint("ngo.results"),
    shell:
        "ngo aggregate {input.metrics} --out {output} > {log} 2>&1"


rule training:
    """Train every run of the config, and join their metrics into one tidy table."""
    input:
        metrics=get_metrics(RUNS),
        code=get_code("ngo.results"),
    output:
        "results/<tier>/metrics/runs.parquet",
    log:
        "logs/<tier>/aggregate/runs.log",
    params:
        code=get_code_fingerprint("ngo.results"),
    shell:
        "ngo aggregate {input.metrics} --out {output} > {log} 2>&1"
