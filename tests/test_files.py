import errno
import os
import stat
from pathlib import Path

import pytest

from alice.errors import AliceError
from alice.files import atomic_write, read_text, regular_file, user_path


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
