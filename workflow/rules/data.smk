# Verified data sets, and partitions: who owns which sample.


onstart:
    # Before any job starts: the lock, the data, each worker's share, and the files of jobs.
    try:
        started = list(workflow.dag.needrun_jobs())
        workflow_start.begin(
            [
                NAMED[job.wildcards.job]
                for job in started
                if job.rule.name == "train"
            ],
            [
                DRAWINGS[job.wildcards.setting]
                for job in started
                if job.rule.name == "partition"
            ],
            DATA_ROOT,
            PLAN.tier,
        )
    except UserError as error:
        sys.exit(f"ngo: {error}")


onerror:
    # A damaged table that a rule wrote goes; the next start makes it again.
    workflow_start.remove_damaged(
        path
        for job in workflow.dag.jobs
        for path in job.output
        if path.endswith(".parquet")
    )


rule data:
    """Verify the files of a data set; download missing ones."""
    output:
        data_manifest("{dataset}"),
    log:
        "logs/data/{dataset}.log",
    # The nodes of a cluster may have no network.
    localrule: True
    conda:
        ENVIRONMENT
    params:
        key=lambda wildcards: staleness.key(identity(wildcards.dataset)),
        plugins=get_plugins,
    shell:
        "ngo data {params.plugins:q} {wildcards.dataset:q} --out {output:q} > {log:q} 2>&1"


rule partition:
    """Decide who owns which sample: all partitions of a setting."""
    input:
        lambda wildcards: [
            data_manifest(name) for name in DRAWINGS[wildcards.setting].datasets
        ],
    output:
        partition_file("<tier>", "{setting}"),
    log:
        "logs/<tier>/partitions/{setting}.log",
    conda:
        ENVIRONMENT
    params:
        file=lambda wildcards: DRAWINGS[wildcards.setting].file,
        key=lambda wildcards: DRAWINGS[wildcards.setting].key,
        plugins=get_plugins,
    shell:
        "ngo partition {params.plugins:q} --job {params.file:q} --key {params.key} --out {output:q} > {log:q} 2>&1"
