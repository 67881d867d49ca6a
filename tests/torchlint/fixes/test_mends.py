"""What single rules mend, in shapes that their pages do not show, and what they leave alone."""

import textwrap

import pytest

from torchlint.catalogue.pages import catalogue
from torchlint.fixes.fixer import Fixer
from torchlint.run.runner import Runner
from torchlint.settings.config import Config


def mended(tmp_path, code, text, unsafe=True, name="example.py"):
    """The text with one rule's fixes applied; None where nothing changes."""
    rules = [rule for rule in catalogue() if rule.code == code]
    assert rules
    raw = textwrap.dedent(text).lstrip("\n").encode()
    done = Fixer(Runner(Config(tmp_path), rules, catalogue()), unsafe).mend(str(tmp_path / name), raw)
    if done is None:
        return None
    compile(done.after, name, "exec")
    return done.after.decode()


def check(tmp_path, code, before, after, **options):
    assert mended(tmp_path, code, before, **options) == textwrap.dedent(after).lstrip("\n")


def test_imported_amp_and_every_use_of_it(tmp_path):
    check(tmp_path, 708, """
        import torch
        from torch.cuda.amp import autocast, GradScaler as Scaler


        def train(model, x, use_amp, scaler: Scaler = None):
            scaler = scaler or Scaler(2.0**10)
            assert isinstance(scaler, Scaler)
            with autocast(
                enabled=use_amp,  # é
            ):
                y = model(x)
            with autocast(use_amp, torch.bfloat16):
                y = model(y)
            with autocast():
                return scaler, model(y)
    """, """
        import torch
        from torch.amp import autocast, GradScaler as Scaler


        def train(model, x, use_amp, scaler: Scaler = None):
            scaler = scaler or Scaler("cuda", 2.0**10)
            assert isinstance(scaler, Scaler)
            with autocast(
                "cuda", enabled=use_amp,  # é
            ):
                y = model(x)
            with autocast("cuda", enabled=use_amp, dtype=torch.bfloat16):
                y = model(y)
            with autocast("cuda"):
                return scaler, model(y)
    """)


def test_imported_module_of_amp(tmp_path):
    check(tmp_path, 708, """
        from torch.cuda import amp


        class Double:
            @staticmethod
            @amp.custom_fwd
            def forward(ctx, x):
                with amp.autocast(enabled=False):
                    return 2 * x
    """, """
        from torch import amp


        class Double:
            @staticmethod
            @amp.custom_fwd(device_type="cuda")
            def forward(ctx, x):
                with amp.autocast("cuda", enabled=False):
                    return 2 * x
    """)


@pytest.mark.parametrize("other", [
    "run(autocast)", "__all__ = ['autocast']", "autocast = None", "def autocast(): pass", "autocast(*given)",
    "import autocast",
])
def test_a_name_that_is_more_than_called_stays_imported(tmp_path, other):
    text = f"from torch.cuda.amp import autocast\n{other}\nwith autocast():\n    pass\n"
    assert mended(tmp_path, 708, text) is None


def test_an_import_under_a_condition_stays(tmp_path):
    text = "try:\n    from torch.cuda.amp import autocast\nexcept ImportError:\n    pass\nwith autocast():\n    pass\n"
    assert mended(tmp_path, 708, text) is None


def test_another_file_may_take_the_name(tmp_path):
    """Changing what a module's name means is safe only in a file that is run by itself."""
    text = "from torch.cuda.amp import GradScaler\n\nscaler = GradScaler()\n"
    assert mended(tmp_path, 708, text, unsafe=False) is None
    assert mended(tmp_path, 708, text) == 'from torch.amp import GradScaler\n\nscaler = GradScaler("cuda")\n'
    assert mended(tmp_path, 708, text + "if __name__ == '__main__':\n    pass\n", unsafe=False) is not None


def test_renamed_functions(tmp_path):
    check(tmp_path, 942, """
        import torch
        import torch.nn.functional as F
        from torch.nn.utils import clip_grad_norm, parameters_to_vector


        def step(model, a, x):
            clip_grad_norm(model.parameters(), 1.0)
            x = F.upsample(F.upsample_bilinear(x, scale_factor=2), scale_factor=2)
            return torch.qr(a), torch.qr(a, some=False), parameters_to_vector(model.parameters()), x
    """, """
        import torch
        import torch.nn.functional as F
        from torch.nn.utils import clip_grad_norm_, parameters_to_vector


        def step(model, a, x):
            clip_grad_norm_(model.parameters(), 1.0)
            x = F.interpolate(F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True), scale_factor=2)
            return torch.linalg.qr(a), torch.qr(a, some=False), parameters_to_vector(model.parameters()), x
    """)


def test_removed_functions(tmp_path):
    check(tmp_path, 941, """
        import torch
        from torch._six import string_classes, inf

        torch.set_deterministic(True)


        def spectrum(a):
            values, vectors = torch.symeig(a, eigenvectors=True)
            alone = torch.symeig(a)[0]
            rank, other = torch.matrix_rank(a), torch.matrix_rank(a, 0.1)
            return values, vectors, alone, rank, other, isinstance(a, string_classes), inf
    """, """
        import torch
        from math import inf
        string_classes = (str, bytes)

        torch.use_deterministic_algorithms(True)


        def spectrum(a):
            values, vectors = torch.linalg.eigh(a, UPLO="U")
            alone = torch.symeig(a)[0]
            rank, other = torch.linalg.matrix_rank(a), torch.matrix_rank(a, 0.1)
            return values, vectors, alone, rank, other, isinstance(a, string_classes), inf
    """)


def test_no_grad_is_entered_for_the_rest_of_the_block(tmp_path):
    check(tmp_path, 134, '''
        import torch


        def predict(model, loader):
          model.eval()
          torch.no_grad()  # cheap

          # all batches
          for x in loader:
        #   print(x)
            print("""first
        second""", model(x))
          return model
    ''', '''
        import torch


        def predict(model, loader):
          model.eval()
          with torch.no_grad():  # cheap

            # all batches
            for x in loader:
        #   print(x)
              print("""first
        second""", model(x))
            return model
    ''')


@pytest.mark.parametrize("text", [
    "import torch\n\ntorch.no_grad()\nprint(model(x))\n",
    "import torch\n\n\ndef f(model, x):\n    torch.no_grad()\n    model(x).sum().backward()\n",
    "import torch\n\n\ndef f(model, x):\n    model.eval(); torch.no_grad()\n    return model(x)\n",
    "import torch\n\n\ndef f(model, x):\n    if x:\n        torch.no_grad()\n    return model(x)\n",
])
def test_no_grad_is_not_entered_where_nobody_can_tell(tmp_path, text):
    assert mended(tmp_path, 134, text) is None


def test_autocast_ends_before_the_backward(tmp_path):
    check(tmp_path, 701, """
        import torch


        def train(model, loader, optimizer, scaler, losses):
            for x, y in loader:
                optimizer.zero_grad()
                with torch.autocast("cuda"):
                    loss = torch.nn.functional.mse_loss(model(x), y)

                    # backward
                    scaler.scale(loss).backward()
                    if losses is not None:
                        losses.append(loss.item())
                    scaler.step(optimizer)
                scaler.update()
    """, """
        import torch


        def train(model, loader, optimizer, scaler, losses):
            for x, y in loader:
                optimizer.zero_grad()
                with torch.autocast("cuda"):
                    loss = torch.nn.functional.mse_loss(model(x), y)

                # backward
                scaler.scale(loss).backward()
                if losses is not None:
                    losses.append(loss.item())
                scaler.step(optimizer)
                scaler.update()
    """)


def test_autocast_goes_on_where_more_is_computed(tmp_path):
    assert mended(tmp_path, 701, """
        import torch


        def train(a, b, loader):
            for x, y in loader:
                with torch.autocast("cuda"):
                    a(x).mean().backward()
                    b(x).mean().backward()
    """) is None


def test_the_base_is_initialised_first(tmp_path):
    check(tmp_path, 503, '''
        from torch import nn


        class Net(nn.Module):
            def __init__(self, width):
                """A net."""
                # sizes
                self.width = width
                self.head = nn.Linear(width, width)
                super(Net, self).__init__()  # at last

            def forward(self, x):
                return self.head(x)
    ''', '''
        from torch import nn


        class Net(nn.Module):
            def __init__(self, width):
                """A net."""
                # sizes
                super(Net, self).__init__()  # at last
                self.width = width
                self.head = nn.Linear(width, width)

            def forward(self, x):
                return self.head(x)
    ''')


def test_a_base_with_arguments_is_left_alone(tmp_path):
    assert mended(tmp_path, 503, """
        from torch import nn


        class Base(nn.Module):
            def __init__(self, width):
                super().__init__()


        class Net(Base):
            def __init__(self, width):
                self.head = nn.Linear(width, width)

            def forward(self, x):
                return self.head(x)
    """) is None


def test_a_buffer_is_registered_once(tmp_path):
    net = """
        import torch
        from torch import nn


        class Net(nn.Module):
            {before}
            def __init__(self):
                super().__init__()
                self.scale = torch.ones(3)
                self.noise = torch.randn(3)

            def forward(self, x: torch.Tensor):
                return x * self.scale + self.noise
    """
    after = mended(tmp_path, 502, net.format(before="size = 3"))
    assert 'self.register_buffer("scale", torch.ones(3), persistent=False)\n' in after
    assert "self.noise = torch.randn(3)\n" in after, "it may have been meant for a parameter"
    assert mended(tmp_path, 502, net.format(before="scale = None")) is None


def test_a_written_list_becomes_a_module_list(tmp_path):
    net = """
        import torch


        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = []
                for _ in range(3):
                    self.layers.append(torch.nn.Linear(2, 2))

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                {more}
                return x
    """
    assert "self.layers = torch.nn.ModuleList()\n" in mended(tmp_path, 501, net.format(more=""))
    assert mended(tmp_path, 501, net.format(more="self.layers.reverse()")) is None


def test_misspelt_flags(tmp_path):
    check(tmp_path, 523, """
        from torch import nn

        model = nn.Linear(2, 2)
        for param in model.parameters():
            param.require_grad = False  # frozen
        model.requires_grad_ = False
    """, """
        from torch import nn

        model = nn.Linear(2, 2)
        for param in model.parameters():
            param.requires_grad = False  # frozen
        model.requires_grad_(False)
    """)


@pytest.mark.parametrize(("given", "left"), [
    ("set_to_none=False", ""), ("False", ""),
])
def test_zeros_are_not_asked_for(tmp_path, given, left):
    text = "import torch\n\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\nopt.zero_grad({})\nopt.step()\n"
    assert mended(tmp_path, 133, text.format(given)) == text.format(left)
    assert mended(tmp_path, 133, text.format(given), unsafe=False) is None


def test_zeros_that_are_read_stay(tmp_path):
    text = "import torch\n\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\nopt.zero_grad(False)\nw.grad += 1\n"
    assert mended(tmp_path, 133, text) is None


def test_a_running_loss_is_detached(tmp_path):
    check(tmp_path, 106, """
        import torch


        def train(model, loader, optimizer):
            total, history = 0.0, []
            for x, y in loader:
                optimizer.zero_grad()
                loss = torch.nn.functional.mse_loss(model(x), y)
                loss.backward()
                optimizer.step()
                total += loss * len(x)  # of the batch
                history.append(loss)
            return total, history
    """, """
        import torch


        def train(model, loader, optimizer):
            total, history = 0.0, []
            for x, y in loader:
                optimizer.zero_grad()
                loss = torch.nn.functional.mse_loss(model(x), y)
                loss.backward()
                optimizer.step()
                total += (loss * len(x)).detach()  # of the batch
                history.append(loss.detach())
            return total, history
    """)


def test_made_on_the_device_of_an_argument(tmp_path):
    check(tmp_path, 402, """
        import torch
        from torch import nn


        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.LSTM(4, 8)

            def forward(self, x):
                h0 = torch.zeros(
                    1,
                    x.size(1),
                    8,
                )
                return self.rnn(x, (h0, h0)), x + torch.arange(4)
    """, """
        import torch
        from torch import nn


        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.LSTM(4, 8)

            def forward(self, x):
                h0 = torch.zeros(
                    1,
                    x.size(1),
                    8,
                    device=x.device,
                )
                return self.rnn(x, (h0, h0)), x + torch.arange(4, device=x.device)
    """)


@pytest.mark.parametrize(("top", "name"), [
    ("import torch", "copy"), ("import copy\nimport torch", "copy"), ("import copy as cp\nimport torch", "cp"),
])
def test_the_best_state_is_copied(tmp_path, top, name):
    text = """{top}


def train(model, optimizer, loader, score):
    best, state = 0.0, None
    for epoch in range(9):
        for x in loader:
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
        if score(model) > best:
            state = {call}
    model.load_state_dict(state)
"""
    after = mended(tmp_path, 904, text.format(top=top, call="model.state_dict()"))
    with_import = top if "copy" in top else "import copy\n" + top
    assert after == text.format(top=with_import, call=f"{name}.deepcopy(model.state_dict())")


def test_what_a_meter_adds_up_is_left_alone(tmp_path):
    """Another caller may give it a number, which has nothing to detach."""
    assert mended(tmp_path, 106, """
        import torch


        class Meter:
            def __init__(self):
                self.sum = 0.0

            def update(self, value, n):
                self.sum += value * n


        def train(model, loader, optimizer):
            meter = Meter()
            for x, y in loader:
                optimizer.zero_grad()
                loss = torch.nn.functional.mse_loss(model(x), y)
                loss.backward()
                optimizer.step()
                meter.update(loss, len(x))
    """) is None


def test_gradients_are_off_in_the_loop_that_evaluates(tmp_path):
    text = """import torch as t


def test(model, loader):
    model.eval()
    right = 0
{before}    for x, y in loader:  # all
{inside}        right += (model(x).argmax(1) == y).sum().item()
    return right
"""
    after = text.replace("    for", "        for").replace("        right +=", "            right +=")
    given = text.format(before="", inside="")
    assert mended(tmp_path, 202, given) == after.format(before="    with t.no_grad():\n", inside="")
    assert mended(tmp_path, 202, given.replace("import torch as t", "from torch import nn")) is None
    assert mended(tmp_path, 202, text.format(before="", inside="        yield x\n")) is None


def test_all_that_an_import_brings_moves_or_nothing(tmp_path):
    text = "from torch.cuda.amp import autocast, GradScaler\ndef GradScaler(): pass\nwith autocast():\n    pass\n"
    assert mended(tmp_path, 708, text) is None
    assert mended(tmp_path, 708, text.replace("def GradScaler(): pass", "")) is not None
    assert mended(tmp_path, 708, text.replace("def GradScaler(): pass", "").replace("GradScaler", "common")) is None


def test_an_argument_is_not_registered(tmp_path):
    """Another caller may give an array, which cannot be a buffer."""
    assert mended(tmp_path, 502, """
        import torch
        from torch import nn


        class Layer(nn.Module):
            def __init__(self, table):
                super().__init__()
                self.table = table
                self.fc = nn.Linear(3, 3)

            def forward(self, x):
                return torch.matmul(self.table, self.fc(x))


        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = Layer(torch.ones(3, 3))

            def forward(self, x):
                return self.layer(x)


        net = Net().cuda()
        net(torch.ones(3, 3).cuda())
    """) is None


def test_a_no_grad_that_is_there_already_is_entered_and_no_second_one_made(tmp_path):
    """The loop below a dropped `torch.no_grad()` gets none of its own, which would leave that line dead."""
    before = """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.head = nn.Linear(2, 2)

            def forward(self, x):
                return self.head(x)

        def validate(loader):
            model = Net()
            model.eval()
            {first}right = 0
            for x, y in loader:
                right += (model(x).argmax(-1) == y).sum().item()
            return right

        validate([(torch.zeros(1, 2), torch.zeros(1))])
    """
    assert mended(tmp_path, 202, before.format(first=""), unsafe=False) is not None
    assert mended(tmp_path, 202, before.format(first="torch.no_grad()\n            ")) is None


def test_what_reduction_has_replaced(tmp_path):
    check(tmp_path, 942, """
        from torch import nn

        one = nn.MSELoss(reduce=True, size_average=False)
        two = nn.L1Loss(reduce=False)
        three = nn.BCELoss(size_average=flag())
        """, """
        from torch import nn

        one = nn.MSELoss(reduction="sum")
        two = nn.L1Loss(reduction="none")
        three = nn.BCELoss(size_average=flag())
        """)


def test_a_line_that_begins_with_spaces_and_a_tab(tmp_path):
    before = """
        import torch

        def states(model, batches):
                for batch in batches:
            \t    with torch.cuda.amp.autocast():
            \t        yield model(batch)
        """
    check(tmp_path, 708, before, before.replace('torch.cuda.amp.autocast()', 'torch.amp.autocast("cuda")'))
