# One job per run, and one tidy table per experiment.


rule train:
    """Train one run."""
    input:
        partition=get_partition,
    output:
        metrics="results/runs/{run}/metrics.parquet",
        record="results/runs/{run}/run.json",
    log:
        "logs/train/{run}.log",
    benchmark:
        "logs/benchmarks/{run}.tsv"
    wildcard_constraints:
        # All but those of train_and_keep. (A pattern of all names would be read again for each job.)
        run=f"(?!({get_pattern(PLAN.snapshots)})/)[^/]+",
    # exec: the run receives the job's signals. --overwrite: when a job starts, finished files are out
    # of date; a checkpoint of the same run is resumed nevertheless.
    conda:
        ENVIRONMENT
    threads: config["threads"]
    resources:
        mem_mb=get_train_memory,
        runtime=config["resources"]["train"]["runtime"],
        gpu=GPU,
        device=DEVICE,
        runs_per_gpu=RUNS_PER_GPU,
    params:
        flags=lambda wildcards: RUNS[wildcards.run].flags(),
        key=lambda wildcards: KEYS.run(wildcards.run),
        plugins=get_plugins,
    shell:
        "exec ngo train {params.plugins:q} {params.flags:q} --partition-file {input.partition:q} --device {resources.device:q}"
        " --runs-per-gpu {resources.runs_per_gpu} --threads {threads} --overwrite --out results/runs/{wildcards.run:q} > {log:q} 2>&1"


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
        key=lambda wildcards: KEYS.run(wildcards.run),
        plugins=get_plugins,


rule aggregate:
    """Join the metrics of an experiment's runs in one tidy table."""
    input:
        metrics=lambda wildcards: get_metrics(
            spec.id for spec in PLAN.training[wildcards.experiment]
        ),
    output:
        "results/<tier>/metrics/{experiment}.parquet",
    log:
        "logs/<tier>/aggregate/{experiment}.log",
    conda:
        ENVIRONMENT
    params:
        key=get_table_key("{experiment}"),
        mixed=get_mixed_versions,
        sampled=get_sampled,
        plugins=get_plugins,
    shell:
        "ngo aggregate {params.plugins:q} {params.mixed:q} {params.sampled:q} {input.metrics:q} --out {output:q} > {log:q} 2>&1"


rule training:
    """Train every run of the config, and join the metrics in one tidy table."""
    input:
        metrics=get_metrics(RUNS),
    output:
        "results/<tier>/metrics/runs.parquet",
    log:
        "logs/<tier>/aggregate/runs.log",
    conda:
        ENVIRONMENT
    params:
        key=get_table_key("runs"),
        mixed=get_mixed_versions,
        plugins=get_plugins,
    shell:
        "ngo aggregate {params.plugins:q} {params.mixed:q} {input.metrics:q} --out {output:q} > {log:q} 2>&1"
