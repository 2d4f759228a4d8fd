import { type Html, type HtmlValue, html } from './markup.ts';

/** The changes of a page for its script: the next live URL, a message for screen readers, and keyed elements. */
export const fragment = (live: string | undefined, news: string, body: HtmlValue): Html => html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Changes</title></head>
<body><main id="main"${live !== undefined && html` data-live="${live}"`}>${body}</main><p id="news">${news}</p></body></html>`;
