"""Whether workers, which are forks of a process that has imported PyTorch, can use a GPU: exits with 1 if not."""

import os
import sys


def child(queue, gpu):
    try:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu
        import torch

        x = torch.ones(8, device="cuda")
        from encoders.attention import fused_grid

        queue.send(f"ok: {float(x.sum())}, {torch.cuda.device_count()} GPU, kernels {fused_grid is not None}")
    except BaseException as error:
        queue.send(f"failed: {error!r}"[:300])


if __name__ == "__main__":
    import multiprocessing

    from pipeline.device.startup.loading import calm_threads, count_gpus
    from pipeline.device.threads.preload import model_modules
    from pipeline.ingest.workers.fork_servers import context

    calm_threads()
    print("GPUs by the driver:", count_gpus(), "torch imported:", "torch" in sys.modules, model_modules(), flush=True)
    answers = []
    for gpu in ("0", str(max(0, count_gpus() - 1))):
        mine, its = multiprocessing.Pipe()
        process = context(("pipeline.cluster.cluster_worker", *model_modules())).Process(target=child, args=(its, gpu))
        process.start()
        its.close()
        try:
            answers.append(mine.recv())
        except EOFError:
            answers.append("failed: ended without an answer")
        process.join()
    print(answers, flush=True)
    sys.exit(any(answer.startswith("failed") for answer in answers))
