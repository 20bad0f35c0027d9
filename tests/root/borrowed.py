"""What tests of other folders borrow of these: the fixtures of this folder's conftest.py."""

import importlib.util
from pathlib import Path


def fixtures():
    """Under another name than conftest, by which the modules here ask for the borrower's own."""
    spec = importlib.util.spec_from_file_location("root_conftest", Path(__file__).with_name("conftest.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: value for name, value in vars(module).items() if not name.startswith("__")}
