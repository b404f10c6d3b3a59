# Verified data sets, and partitions: who owns which sample.

# The lock of this folder: one Snakemake at a time. (Snakemake's own lock outlives a kill, so the
# profiles turn it off.)
HELD = []

# With so few jobs, starting a prefork server takes longer than it saves.
FEW = 5


onstart:
    # Before any job starts, check that the data sets are intact or can be downloaded, and that each
    # worker's share fills a batch.
    from ngo.data.described import check_content
    from ngo.training.partition_file import check_shares

    try:
        HELD.append(exclusive_lock(".snakemake/ngo.lock"))
        atexit.register(tell_folders)
        remove_all_partial("results")
        jobs = list(workflow.dag.needrun_jobs())
        for name in get_data_sets(jobs):
            download.check(name, DATA_ROOT)
            check_content(name, DATA_ROOT)
        trained = get_trained(jobs)
        check_shares(trained, DATA_ROOT)
        if len(jobs) > FEW and not DEPLOYED and config["warm"] and HERE and not GPU:
            prefork.start().export()
    except UserError as error:
        sys.exit(f"ngo: {error}")


rule data:
    """Verify the files of a data set; download missing ones."""
    output:
        "results/data/{dataset}.json",
    log:
        "logs/data/{dataset}.log",
    # The nodes of a cluster may have no network.
    localrule: True
    conda:
        ENVIRONMENT
    params:
        key=lambda wildcards: KEYS.data_set(wildcards.dataset),
        plugins=get_plugins,
    shell:
        "ngo data {params.plugins:q} {wildcards.dataset:q} --out {output:q} > {log:q} 2>&1"


rule partition:
    """Decide who owns which sample."""
    input:
        lambda wildcards: f"results/data/{PARTITIONS[wildcards.partition].dataset}.json",
    output:
        "results/partitions/{partition}.parquet",
    log:
        "logs/partitions/{partition}.log",
    conda:
        ENVIRONMENT
    params:
        flags=lambda wildcards: get_flags(
            PARTITIONS[wildcards.partition].partition_fields
        ),
        key=lambda wildcards: KEYS.partition(wildcards.partition),
        plugins=get_plugins,
    shell:
        "ngo partition {params.plugins:q} {params.flags:q} --out {output:q} > {log:q} 2>&1"
