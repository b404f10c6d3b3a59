# Data sets, verified, and who owns which sample.

# One Snakemake at a time in this folder. (Its own lock outlives a kill; the local profile does
# without it.)
HELD = []

# Jobs that are done sooner than what a warm start imports.
FEW = 5


onstart:
    # Before any job starts: the data of the jobs to come is there and whole, or can be fetched, and
    # each worker's share of it fills a batch.
    from ngo.partition_file import check_shares

    try:
        HELD.append(hold(".snakemake/ngo.lock"))
        atexit.register(tell_folders)
        clear_partial("results")
        jobs = list(workflow.dag.needrun_jobs())
        for name in get_data_sets(jobs):
            datasets.check(name, DATA_ROOT)
        trained = get_trained(jobs)
        check_shares(trained, DATA_ROOT)
        if len(jobs) > FEW and config["warm"] and HERE and PLAN.device == "cpu":
            warm.start().export()
    except UserError as error:
        sys.exit(f"ngo: {error}")


rule data:
    """Verify the files of a data set, downloading those that are absent."""
    output:
        "results/data/{dataset}.json",
    log:
        "logs/data/{dataset}.log",
    # A cluster's nodes may have no network.
    localrule: True
    shell:
        "ngo data {wildcards.dataset} --out {output} > {log} 2>&1"


rule partition:
    """Decide who owns which sample."""
    input:
        get_manifest,
        code=get_code("ngo.partition_file", "ngo.partition", "ngo.datasets"),
    output:
        "results/partitions/{partition}.parquet",
    log:
        "logs/partitions/{partition}.log",
    params:
        flags=get_partition_flags,
        code=get_code_fingerprint("ngo.partition_file", "ngo.partition", "ngo.datasets"),
    shell:
        "ngo partition {params.flags:q} --out {output} > {log} 2>&1"
