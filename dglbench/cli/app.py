"""The program: which verbs there are, how they are loaded, how errors are shown.

A verb is a module ``dglbench.cli.<name>`` with a function ``run`` whose signature
is its options and whose docstring is its help. It is imported when it is called,
so ``dglbench --help`` never pays for what another verb needs.

Exit codes: 0 done; 2 a mistake in what was asked; 130 interrupted; 1 anything else.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from dglbench.cli import console
from dglbench.errors import DglbenchError, OptionError

__all__ = ["VERBS", "Verb", "app", "main"]


class Verb(NamedTuple):
    """Where a verb lives and what the top-level help says of it."""

    module: str
    summary: str
    light: bool = False
    """Whether it answers at once, with no garbage worth collecting."""


VERBS = {
    "generate": Verb("dglbench.cli.generate", "Generate a dataset, and show what it is like."),
    "import": Verb("dglbench.cli.import_data", "Import your own arrays as a dataset."),
    "fit": Verb("dglbench.cli.fit", "Fit a model to your data, with a verdict, in one command."),
    "train": Verb("dglbench.cli.train", "Train one predictor with one method, and log the run."),
    "sweep": Verb("dglbench.cli.sweep", "Run many trainings, in parallel; again to resume."),
    "apply": Verb("dglbench.cli.apply", "Predict and decide with what a run learnt."),
    "report": Verb("dglbench.cli.report", "Draw figures, tables and a page from the logs."),
    "pack": Verb("dglbench.cli.pack", "Pack finished runs to hand them on."),
    "unpack": Verb("dglbench.cli.unpack", "Make a folder of runs from packs."),
    "verify": Verb("dglbench.cli.verify", "Check that a pack says what its runs found."),
    "check-method": Verb("dglbench.cli.check_method", "Check a method's signs and gradients."),
    "list": Verb(
        "dglbench.cli.listing",
        "List tasks, solvers, layers, methods, and where they come from.",
        light=True,
    ),
}

_DEBUG = "--debug"
_EXAMPLE_TITLE = "[bold]Examples[/bold]"
_EVERYWHERE = ("debug", "quiet")
"""Options that may stand on either side of the verb."""


def _cheap(flag: Any) -> Any:
    """Give a flag such as --help the default False, which typer takes as it is.

    Typer gives it None, and to see that None is no bool it imports pydantic: 0.1 s
    of CPU time for every command that otherwise needs no conversion.
    """
    if flag is not None:
        flag.default = False
        flag.metavar = ""
    return flag


def _tidy(param: Any) -> None:
    """Show an option as its reader needs it: a flag takes no value, a default is no markup."""
    text = getattr(param, "help", None) or ""
    if getattr(param, "is_flag", False):
        param.metavar = ""
    elif param.param_type_name == "option" and param.default is None and not param.required:
        text = text if "[default" in text else f"{text}  [default: none]"
    param.help = text.replace("[default", r"\[default")


def _spare(param: Any) -> None:
    """Convert an option only if it was given: typer imports pydantic even to leave it out."""
    convert = param.process_value
    if not param.required and param.callback is None:
        param.process_value = lambda ctx, value: (
            None if value in (None, ()) else convert(ctx, value)
        )


class _Command(TyperCommand):
    def get_help_option(self, ctx: Any) -> Any:
        return _cheap(super().get_help_option(ctx))


class _LazyGroup(TyperGroup):
    """A group whose verbs are names and one-line summaries until one is called."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, verb in VERBS.items():
            self.commands[name] = TyperCommand(name, help=verb.summary)

    def get_help_option(self, ctx: Any) -> Any:
        return _cheap(super().get_help_option(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name = args[0]
        if name not in VERBS and not name.startswith("-") and not ctx.resilient_parsing:
            import difflib

            close = difflib.get_close_matches(name, VERBS, n=1)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            raise OptionError(f"there is no command '{name}'; there are {', '.join(VERBS)}.{hint}")
        found, command, rest = super().resolve_command(ctx, args)
        if found in VERBS:
            command = self._load(found)
        return found, command, rest

    def _load(self, name: str) -> Any:
        if not VERBS[name].light:
            gc.enable()
        module = importlib.import_module(VERBS[name].module)
        shell = typer.Typer(add_completion=False, rich_markup_mode="rich")
        epilog = "\n\n".join([_EXAMPLE_TITLE, *getattr(module, "EXAMPLES", ())])
        shell.command(name, cls=_Command, epilog=epilog)(module.run)
        command = get_command(shell)
        command.params.extend(param for param in self.params if param.name in _EVERYWHERE)
        for param in command.params:
            _tidy(param)
            if VERBS[name].light:
                _spare(param)
        return command


app = typer.Typer(
    name="dglbench",
    cls=_LazyGroup,
    no_args_is_help=False,
    invoke_without_command=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from dglbench import __version__

        console.out.print(f"dglbench {__version__}", highlight=False)
        raise typer.Exit


def _be_quiet(wanted: bool) -> None:
    if wanted:
        console.be_quiet(True)


@app.callback(epilog=f"{_EXAMPLE_TITLE}\n\ndglbench sweep --preset quick\n\ndglbench report")
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            metavar="",
            callback=_show_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            metavar="",
            callback=_be_quiet,
            expose_value=False,
            help="Print results, warnings and errors only.",
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            _DEBUG, metavar="", expose_value=False, help="Show the traceback of an error."
        ),
    ] = False,
) -> None:
    """Find out which way of training gives the best decisions for the time you have."""
    if context.invoked_subcommand is None:
        console.out.print(context.get_help(), end="", markup=False, highlight=False)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if args is None else args)
    gc.disable()  # until a verb that works for longer is loaded
    console.be_quiet(False)
    try:
        _only_text(words)
        program = get_command(app)
        for param in program.params:  # flags all; those of completion have no default
            _cheap(param)
        code = program.main(words, prog_name="dglbench", standalone_mode=False)
        sys.stdout.flush()  # a reader that has gone away is noticed here, not at exit
    except BrokenPipeError:
        return _reader_left()
    except (DglbenchError, typer.TyperException, OSError) as error:
        return _fail(_sentence(error), 2, words)
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except MemoryError:
        return _fail("there is not enough memory; ask for less data or fewer jobs.", 1, words)
    except Exception as error:  # the last resort: say it is ours, not the user's
        what = f"{type(error).__name__}: {error}".strip(": ")
        return _fail(f"this is a bug in dglbench ({what}).", 1, words)
    finally:
        gc.enable()
    if code == 130:
        console.note("interrupted.")
    return code if isinstance(code, int) else 0


def _only_text(words: Sequence[str]) -> None:
    """Refuse bytes that are no text before anything is written: Parquet files cannot have them."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            shown = ascii(os.fsencode(word))[1:]
            raise OptionError(f"{shown} is not UTF-8 text; give a name that is.") from None


def _fail(sentence: str, code: int, words: Sequence[str]) -> int:
    """Tell the error being handled in one sentence, with its traceback if that was asked for."""
    if _DEBUG in words:
        console.err.print_exception()
    elif code == 1:
        sentence += f" Run the command again with {_DEBUG} to see where."
    console.error(sentence)
    return code


def _sentence(error: Exception) -> str:
    """Put a mistake in what was asked, or what the machine refused, in one sentence."""
    if isinstance(error, typer.TyperException):  # in how the command was written
        return _usage_sentence(error)
    if isinstance(error, OSError):  # a full disk, a file that has gone
        where = f"{error.filename} cannot be used" if error.filename else "the system refused"
        return f"{where}: {error.strerror or error}; fix that, or name another file or folder."
    return str(error)


def _usage_sentence(error: typer.TyperException) -> str:
    sentence = " ".join(error.format_message().split())
    sentence = sentence[:1].lower() + sentence[1:]
    path = getattr(getattr(error, "ctx", None), "command_path", "dglbench")
    return f"{sentence.rstrip('.')}; see {path} --help."


def _reader_left() -> int:
    # Python flushes stdout once more at exit; give it somewhere to go.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 1
