"""What an HTML page consists of, and words of a user that would break one."""

import re
from html.parser import HTMLParser

NASTY = "<script>alert(1)</script> & \"double\" 'single' {{ 7 * 7 }}"

# Elements without an end tag in HTML.
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """What a page consists of; fails where tags do not match."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.ids, self.links, self.headings, self.texts = [], [], [], [], [], []
        self.described = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.tags.append((tag, values))
        if "id" in values:
            self.ids.append(values["id"])
        self.links += [values[name] for name in ("href", "src", "xlink:href") if name in values]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if self.open and re.fullmatch("h[1-6]", self.open[-1]):
            self.headings.append((self.open[-1], data.strip()))
        if self.open and self.open[-1] in ("title", "desc") and "svg" in self.open:
            self.described.append(data)

    def count(self, tag):
        return sum(name == tag for name, _ in self.tags)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())
