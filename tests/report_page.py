"""A rendered page as its tags and words, and text that tries to become an element."""

from html.parser import HTMLParser

EVIL = "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>'\"&\u2028"

LINE = EVIL.replace("\u2028", "")


class Page(HTMLParser):
    """The tags of a page, the text of its JSON elements by id, and all other text."""

    def __init__(self, source):
        super().__init__()
        self.tags, self.data, self.words, self.open = [], {}, [], None
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open = (
            dict(attrs).get("id") if ("type", "application/json") in attrs else None if tag != "script" else False
        )

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open:
            self.data[self.open] = data
        elif self.open is None:
            self.words.append(data)
