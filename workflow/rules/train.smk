# Jobs that train runs, and one tidy table per experiment.


rule try_plugins:
    """Take the first steps of each combination with entries of plugins: a mistake is found early."""
    input:
        [data_manifest(name) for name in sorted({spec.dataset for spec in TRIED})],
    output:
        "results/<tier>/tried.txt",
    log:
        "logs/<tier>/tried.log",
    conda:
        ENVIRONMENT
    params:
        key=staleness.key([(spec.id, results_version(spec)) for spec in TRIED]),
        flags=FLAGS,
        plugins=get_plugins,
    shell:
        "ngo runs {params.plugins:q} {params.flags:q} --try > {output:q} 2> {log:q}"


rule train:
    """Train the runs of a job that are not in results/runs, and join all of them in a table."""
    input:
        partitions=lambda wildcards: partition_file(
            PLAN.tier, NAMED[wildcards.job].setting
        ),
        tried=lambda wildcards: (
            [f"results/{PLAN.tier}/tried.txt"]
            if any(map(own_entries, NAMED[wildcards.job].runs))
            else []
        ),
    output:
        job_table("<tier>", "{job}"),
    log:
        "logs/<tier>/jobs/{job}.log",
    benchmark:
        "logs/benchmarks/<tier>/{job}.tsv"
    # The longest first.
    priority: lambda wildcards: int(NAMED[wildcards.job].cost)
    conda:
        ENVIRONMENT
    threads: config["threads"]
    resources:
        mem_mb=lambda wildcards, attempt: attempt
        * NAMED[wildcards.job].memory(config["resources"]["train"]),
        runtime=lambda wildcards: NAMED[wildcards.job].minutes(
            config["resources"]["train"]
        ),
        gpu=GPU,
        device=config["device"] if GPU else "cpu",
    params:
        file=lambda wildcards: NAMED[wildcards.job].file,
        key=lambda wildcards: NAMED[wildcards.job].key,
        plugins=get_plugins,
    # exec: the process receives the job's signals.
    shell:
        "exec ngo train {params.plugins:q} --job {params.file:q} --key {params.key} --partition-file {input.partitions:q}"
        " --device {resources.device} --threads {threads} > {log:q} 2>&1"


rule aggregate:
    """Join the tables of an experiment's jobs in one tidy table, also with its added seeds."""
    input:
        lambda wildcards: [
            job.table
            for name in PLAN.joined[wildcards.experiment]
            for job in JOBS[name]
        ],
    output:
        tidy_table("<tier>", "{experiment}"),
    log:
        "logs/<tier>/aggregate/{experiment}.log",
    wildcard_constraints:
        experiment="|".join(PLAN.joined) or "none",
    conda:
        ENVIRONMENT
    params:
        key=lambda wildcards: staleness.key(
            staleness.code(*staleness.JOINED), PLAN.universes_of(wildcards.experiment)
        ),
        sampled=lambda wildcards: (
            ["--universes", wildcards.experiment, *FLAGS]
            if wildcards.experiment in PLAN.universes
            else []
        ),
        plugins=get_plugins,
    shell:
        "ngo aggregate {params.plugins:q} {params.sampled:q} {input:q} --out {output:q} > {log:q} 2>&1"


rule training:
    """Train every run of the config, and join the metrics in one tidy table."""
    input:
        [job.table for job in NAMED.values()],
    output:
        tidy_table("<tier>", "runs"),
    log:
        "logs/<tier>/aggregate/runs.log",
    conda:
        ENVIRONMENT
    params:
        key=staleness.code(*staleness.JOINED),
        plugins=get_plugins,
    shell:
        "ngo aggregate {params.plugins:q} {input:q} --out {output:q} > {log:q} 2>&1"
