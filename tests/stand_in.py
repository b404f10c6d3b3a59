"""A stand-in for a GPU: tensors that claim to be on one, and the errors that a real one raises.

The tensors' memory is the host's. Every call of a torch function passes through the mode ``Card``,
which moves tensors between host and card, and refuses operands of both in one operation. Below
autograd, ``torch.cuda.graph`` records the operations
of a capture, and ``replay`` repeats them on the same memory.
"""

from contextlib import contextmanager
from types import SimpleNamespace

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map

PLACE = torch.device("cuda:1")

# Calls that create a tensor; each takes a device.
MAKERS = ("empty", "zeros", "ones", "full", "rand", "randn", "arange", "tensor", "eye")


class OnCard(torch.Tensor):
    """A tensor on the stand-in."""

    device = property(lambda self: PLACE)
    is_cuda = property(lambda self: True)
    is_cpu = property(lambda self: False)


class Generator(torch.Generator):
    """A stream of random numbers that claims any device; the numbers are the CPU's."""

    def __new__(cls, device="cpu"):
        made = super().__new__(cls)
        made.place = torch.device(device)
        return made

    device = property(lambda self: self.place)


def on_host(tree):
    """The tensors of a tree on the host, as ``torch.load`` restores them."""
    return tree_map(lambda x: x.as_subclass(torch.Tensor).clone() if _on_card(x) else x, tree)


def _on_card(x):
    return isinstance(x, OnCard)


def _in_vmap(x):
    return torch._C._functorch.is_functorch_wrapped_tensor(x)


def _is_card(device):
    return device is not None and torch.device(device).type == "cuda"


class Card(TorchFunctionMode):
    """The stand-in."""

    def __init__(self):
        super().__init__()
        self.current = 0  # the current GPU, of torch.cuda

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = getattr(function, "__name__", "")
        if name == "pin_memory":
            return args[0].clone()
        if name == "to":
            return self._moved(function, args, kwargs)
        if name == "cpu":
            return on_host(args[0])
        if name == "copy_" and len({_on_card(x) for x in args[:2]}) == 2:
            args[0].as_subclass(torch.Tensor).copy_(args[1].as_subclass(torch.Tensor))
            return args[0]
        if name in MAKERS and "device" in kwargs:
            there = _is_card(kwargs["device"])
            if there:
                kwargs["device"] = "cpu"
            made = function(*args, **kwargs)
            self._refuse_other_streams(kwargs, there)
            return made.as_subclass(OnCard) if there else made
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        if any(map(_on_card, tensors)):
            self._refuse_other_streams(kwargs, True)
            host = [x for x in tensors if not _on_card(x) and x.dim() and not _in_vmap(x)]
            if host and name == "_has_compatible_shallow_copy_type":
                return False
            if host and name != "__getitem__":
                raise RuntimeError(f"{name}: expected all tensors to be on the same device")
        return function(*args, **kwargs)

    def _moved(self, function, args, kwargs):
        x, *rest = args
        places = [a.device for a in rest if isinstance(a, torch.Tensor)]
        places += [a for a in [*rest, kwargs.get("device")] if isinstance(a, torch.device | str)]
        dtypes = [a.dtype if isinstance(a, torch.Tensor) else a for a in rest]
        dtypes = [a for a in [*dtypes, kwargs.get("dtype")] if isinstance(a, torch.dtype)]
        there = _is_card(places[0]) if places else _on_card(x)
        if there == _on_card(x) and (not dtypes or dtypes[0] == x.dtype):
            return x
        plain = x.as_subclass(torch.Tensor)
        moved = plain.to(dtypes[0] if dtypes else x.dtype)
        moved = moved.clone() if moved is plain and there != _on_card(x) else moved
        return moved.as_subclass(OnCard) if there else moved

    def _refuse_other_streams(self, kwargs, there):
        generator = kwargs.get("generator")
        if generator is not None and _is_card(generator.device) != there:
            raise RuntimeError("expected a generator of the same device")

    def cuda(self):
        """The parts of ``torch.cuda`` that the package uses, by name."""

        @contextmanager
        def device_of(x):
            before, self.current = self.current, x.device.index if x.is_cuda else self.current
            yield
            self.current = before

        @contextmanager
        def graph(captured, pool=None, stream=None):
            if self.current != PLACE.index:
                yield  # another GPU executes at once: the CUDA graph stays empty
                return
            with captured.recording():
                yield

        stream = SimpleNamespace(wait_stream=lambda other: None)
        return {
            "device_of": device_of,
            "get_device_name": lambda device=None: "a card",
            "graph": graph,
            "CUDAGraph": Graph,
            "Stream": lambda: stream,
            "current_stream": lambda: stream,
            "stream": device_of_nothing,
            "synchronize": lambda device=None: None,
        }


@contextmanager
def device_of_nothing(stream):
    yield


class Graph:
    """A CUDA graph: captured calls below autograd, executed only when it is replayed."""

    def __init__(self):
        self.calls, self.registered = [], []

    def register_generator_state(self, generator):
        self.registered.append(generator.initial_seed())

    def pool(self):
        return "pool"

    @contextmanager
    def recording(self):
        recorder = _Recorder(self.calls, self.registered)
        with recorder:
            yield
        # A capture computes nothing: undo its effects on earlier tensors and streams.
        with torch._C.DisableTorchFunction(), torch.no_grad():
            for tensor, before in reversed(recorder.written):
                tensor.detach().copy_(before)
        for generator, state in recorder.streams.items():
            generator.set_state(state)

    def replay(self):
        with torch._C.DisableTorchFunction(), torch.no_grad():
            for function, args, kwargs, out in self.calls:
                new = tree_flatten(function(*args, **kwargs))[0]
                for was, now in zip(tree_flatten(out)[0], new, strict=True):
                    if isinstance(was, torch.Tensor) and was.data_ptr() != now.data_ptr():
                        was.detach().copy_(now)


class _Recorder(TorchDispatchMode):
    def __init__(self, calls, registered):
        super().__init__()
        self.calls, self.registered = calls, registered
        self.written, self.streams = [], {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is torch.ops.aten._local_scalar_dense.default:
            raise RuntimeError("operation not permitted when stream is capturing")
        written = [
            value
            for argument, value in zip(function._schema.arguments, args, strict=False)
            if argument.alias_info is not None and argument.alias_info.is_write
        ]
        if function is torch.ops.aten.native_batch_norm.default:
            written += args[3:5]  # running mean and variance, which its schema does not mark
        self.written += [(value, value.clone()) for value in written]
        generator = kwargs.get("generator")
        if generator is not None:
            if generator.initial_seed() not in self.registered:
                raise RuntimeError("Attempt to increase offset for a CUDA generator not in capture")
            self.streams.setdefault(generator, generator.get_state())
        out = function(*args, **kwargs)
        self.calls.append((function, args, kwargs, out))
        return out
