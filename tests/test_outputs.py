import os

import pytest

from alice.errors import AliceError
from alice.outputs import OWN_FILES, check_file, check_folder, check_not_read, check_parent, folder_kind


def test_a_file_that_is_read_is_not_written(tmp_path):
    (tmp_path / "in.txt").write_text("x")
    (tmp_path / "link.txt").symlink_to(tmp_path / "in.txt")
    check_not_read(tmp_path / "out.txt", [tmp_path / "in.txt"])
    os.link(tmp_path / "in.txt", tmp_path / "same.txt")
    for out in ("in.txt", "link.txt", "same.txt", "../" + tmp_path.name + "/in.txt"):
        with pytest.raises(AliceError, match="is read by this command"):
            check_not_read(tmp_path / out, [tmp_path / "in.txt"])


def test_nothing_is_written_into_a_folder_that_is_read(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to("data")
    for out in ("data/new.txt", "data/a/b", "link/new.txt", "data/../data/new.txt"):
        with pytest.raises(AliceError, match=r"is inside .*data, which is read by this command"):
            check_not_read(tmp_path / out, [tmp_path / "data"])
    check_not_read(tmp_path / "data.txt", [tmp_path / "data"])
    check_not_read(tmp_path / "data" / "new.txt", [tmp_path / "data" / "absent"])


def test_a_folder_with_a_file_that_is_read_is_not_replaced(tmp_path):
    (tmp_path / "out" / "below").mkdir(parents=True)
    for name in ("out/in.txt", "out/below/in.txt"):
        (tmp_path / name).touch()
        (tmp_path / "link.txt").unlink(missing_ok=True)
        (tmp_path / "link.txt").symlink_to(name)
        for read in (name, "link.txt"):
            with pytest.raises(AliceError, match=r"is read by this command, and .*out would be replaced around it"):
                check_not_read(tmp_path / "out", [tmp_path / read])


@pytest.mark.parametrize(
    ("file", "kind"), [("training.json", "training"), ("model.safetensors", "checkpoint"), ("result.json", "report")]
)
def test_nothing_is_put_below_a_training_a_checkpoint_or_a_report(tmp_path, file, kind):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / file).touch()
    (tmp_path / "link").symlink_to("theirs")
    for out in ("theirs/new", "theirs/a/b/c", "link/new"):
        for check in (check_parent, lambda folder: check_folder(folder, writes="training")):
            with pytest.raises(AliceError, match=f"is inside .*theirs, which is a {kind}; choose"):
                check(tmp_path / out)
    (tmp_path / "theirs" / file).rename(tmp_path / "entries.js")
    assert check_parent(tmp_path / "theirs" / "new") == tmp_path / "theirs" / "new"


def test_the_names_of_our_files_are_those_that_are_written():
    from alice.checkpoint import folder
    from alice.plugins.reproduce.page import DOCUMENT
    from alice.reports import archive, gallery
    from alice.training.state import STATE

    of_models = {folder.CONFIG, folder.WEIGHTS, folder.CARD, folder.TRAINING, folder.METRICS, STATE}
    of_reports = {archive.RESULT, archive.ARRAYS, gallery.ENTRY, gallery.THUMBNAIL, gallery.ENTRIES, DOCUMENT}
    assert of_models | of_reports == OWN_FILES


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"training.json": '{"before": {}}'}, "training"),
        ({"training.json": "damaged"}, "training"),
        ({"training-state.safetensors": "", "training.json": '{"totals": {}}'}, "training"),
        ({"config.json": '{"format": 1}', "model.safetensors": "", "training.json": '{"totals": {}}'}, "checkpoint"),
        ({"model.safetensors": ""}, "checkpoint"),  # an export was interrupted
        ({"config.json": "{}", "model.safetensors": ""}, None),  # a model of another program
        ({"result.json": ""}, "report"),
        ({"reproduce.json": '{"format": "alice-interp reproduction"}'}, "reproduction"),
        ({"reproduce.json": '{"format": "of somebody else"}'}, None),
        ({"reproduce.json": "mine"}, None),
        ({"entries.js": ""}, "folder of reports"),
        ({"notes.txt": ""}, None),
        ({}, None),
    ],
)
def test_a_folder_is_recognised_by_its_files(tmp_path, files, kind):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert folder_kind(tmp_path) == kind


def test_an_empty_folder_may_be_written_and_hidden_files_do_not_count(tmp_path):
    (tmp_path / ".notes").touch()
    assert check_folder(tmp_path, writes="checkpoint") == tmp_path
    (tmp_path / "runs").mkdir()
    assert check_folder(tmp_path, writes="reproduction", besides=["runs"]) == tmp_path
    with pytest.raises(AliceError, match="is not empty and not a checkpoint"):
        check_folder(tmp_path, writes="checkpoint", replace=True)


def test_a_folder_of_the_same_kind_is_replaced_only_if_asked_for(tmp_path):
    (tmp_path / "config.json").write_text('{"format": 1}')
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(AliceError, match="is already a checkpoint; add --force"):
        check_folder(tmp_path, writes="checkpoint")
    assert check_folder(tmp_path, writes="checkpoint", replace=True) == tmp_path
    for check in (check_parent, lambda folder: check_folder(folder, writes="training", replace=True)):
        with pytest.raises(AliceError, match="is a checkpoint; choose"):
            check(tmp_path)


def test_a_folder_below_a_file_is_refused_before_anything_is_computed(tmp_path):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "a" / "b"):
        with pytest.raises(AliceError, match=r"because .*file is a file"):
            check_folder(folder, writes="training")


def test_a_file_is_replaced_if_it_is_ours_or_asked_for(tmp_path):
    file = tmp_path / "a.txt"
    assert check_file(file) == file
    file.write_text("ours")
    with pytest.raises(AliceError, match="already exists; add --force"):
        check_file(file)
    assert check_file(file, force=True) == check_file(file, is_ours=lambda path: path.read_text() == "ours") == file
    with pytest.raises(AliceError, match="is read by this command"):
        check_file(file, read=[tmp_path], force=True)
