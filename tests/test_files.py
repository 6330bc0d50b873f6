import errno
import os
import stat
from pathlib import Path

import pytest

from alice.errors import AliceError
from alice.files import atomic_write, read_text, regular_file, user_path
from alice.outputs import OWN_FILES, check_file, check_folder, check_not_read, check_parent, folder_kind


def test_the_file_appears_when_the_block_ends(tmp_path):
    target = tmp_path / "out.txt"
    with atomic_write(target) as file:
        file.write("naïve\n")
        assert not target.exists()
    assert target.read_bytes() == "naïve\n".encode()
    assert list(tmp_path.iterdir()) == [target]


def test_bytes_are_written_as_they_are(tmp_path):
    with atomic_write(tmp_path / "out.bin", "wb") as file:
        file.write(b"\r\n\0")
    assert (tmp_path / "out.bin").read_bytes() == b"\r\n\0"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_nothing_is_left_and_the_old_file_stays_when_the_block_fails(tmp_path, error):
    target = tmp_path / "out.txt"
    target.write_text("old")
    with pytest.raises(error), atomic_write(target) as file:
        _write_and_fail(file, error)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def _write_and_fail(file, error):
    file.write("new")
    raise error


def test_a_full_disk_is_one_sentence(tmp_path):
    with pytest.raises(AliceError, match="no room left"), atomic_write(tmp_path / "out.txt"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert not list(tmp_path.iterdir())


def test_permissions_are_those_of_an_ordinary_new_file(tmp_path):
    (tmp_path / "ordinary").write_text("")
    with atomic_write(tmp_path / "out.txt") as file:
        file.write("x")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ordinary", "out.txt")}
    assert len(modes) == 1


def test_a_folder_is_not_written_over(tmp_path):
    with pytest.raises(AliceError, match="is a folder"), atomic_write(tmp_path):
        pass


def test_a_device_is_not_replaced_by_a_file():
    with pytest.raises(AliceError, match="not a regular file"), atomic_write("/dev/null"):
        pass
    assert Path("/dev/null").is_char_device()


def test_a_missing_folder_is_named(tmp_path):
    with (
        pytest.raises(AliceError, match=r"folder .*nowhere does not exist"),
        atomic_write(tmp_path / "nowhere" / "a.txt"),
    ):
        pass


@pytest.mark.parametrize("name", ["~nobody-has-this-name/a.txt", "x" * 5000, "a\0b"])
def test_a_path_that_the_system_refuses_is_one_short_sentence(name):
    for use in (user_path, lambda path: atomic_write(path).__enter__()):
        with pytest.raises(AliceError, match="cannot be used") as caught:
            use(name)
        assert len(str(caught.value)) < 200
    assert user_path("~") == Path.home()


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


def test_only_a_regular_file_is_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, what in ((tmp_path, "a folder"), (tmp_path / "pipe", "a pipe"), (Path("/dev/zero"), "a device")):
        with pytest.raises(AliceError, match=f"is .*{what.split()[-1]}.*; give an ordinary file"):
            regular_file(path)
    assert regular_file(tmp_path / "absent") == tmp_path / "absent"


def test_a_text_file_is_read_up_to_its_limit(tmp_path):
    (tmp_path / "a.txt").write_text("naïve")
    assert read_text(tmp_path / "a.txt", most=6) == "naïve"
    with pytest.raises(OSError, match="it is larger than 0 MB"):
        read_text(tmp_path / "a.txt", most=5)
    with pytest.raises(OSError, match="it is larger than"):  # its size is said to be 0
        read_text(Path("/proc/self/maps"), most=100)
