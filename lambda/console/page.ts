import type { Caller } from '../http/caller.ts';
import { hasRole, OPERATE_ROLES, VIEW_ROLES } from '../http/roles.ts';
import { FILES } from './assets.ts';
import { badge } from './inbox-count.ts';
import { type Html, type HtmlValue, html } from './markup.ts';
import { PATHS } from './paths.ts';
import { plainText, userText } from './text.ts';

/** The items of the main navigation. */
type NavItem = 'inbox' | 'runs' | 'start';

/** Options of {@link page}. */
export interface PageOptions {
  readonly title: string;
  readonly body: HtmlValue;
  /** Absent on pages of approval links. */
  readonly caller?: Caller | undefined;
  readonly current?: NavItem | undefined;
  /** The URL that the script polls for changes; empty for the page itself. */
  readonly live?: string | undefined;
  /** The URL of the events of the run that the page shows; the script follows it. */
  readonly events?: string | undefined;
  /** Whether the page has one narrow column. */
  readonly isNarrow?: boolean;
}

/** A complete HTML page, with a live region where the script announces changes. */
export const page = ({
  title,
  body,
  caller,
  current,
  live,
  events,
  isNarrow = false,
}: PageOptions): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${!caller && html`<meta name="referrer" content="no-referrer">`}
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${plainText(title)} · Waitstate</title>
<link rel="icon" type="image/svg+xml" href="${PATHS.asset(FILES.icon)}">
<link rel="stylesheet" href="${PATHS.asset(FILES.style)}">
<script src="${PATHS.asset(FILES.script)}" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header class="top">
<div class="bar${isNarrow && !caller && ' narrow-bar'}">
${caller ? html`<a class="mark" href="${PATHS.home}">${LOGO}Waitstate</a>` : html`<span class="mark">${LOGO}Waitstate</span>`}
${caller && navigation(caller, current)}
</div>
</header>
<main id="main" tabindex="-1" class="${isNarrow ? 'narrow' : 'wide'}"${live !== undefined && html` data-live="${live}"`}${events !== undefined && html` data-events="${events}"`}>
${body}
</main>
<p id="news" class="unseen" role="status"></p>
</body>
</html>`;

const LOGO = html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M8 2h8l6 6v8l-6 6H8l-6-6V8z"/><path class="bars" d="M9.5 8.5v7m5-7v7"/></svg>`;

function navigation(caller: Caller, current: NavItem | undefined): Html {
  const links = [
    ['inbox', PATHS.inbox, 'Inbox', true],
    ['runs', PATHS.runs, 'Runs', hasRole(caller, VIEW_ROLES)],
    ['start', PATHS.start, 'Start a run', hasRole(caller, OPERATE_ROLES)],
  ] as const;
  return html`<nav aria-label="Main"><ul>${links
    .filter(([, , , isThere]) => isThere)
    .map(
      ([name, path, label]) =>
        html`<li><a href="${path}"${name === current && html` aria-current="page"`}>${label}${name === 'inbox' && badge(caller)}</a></li>`,
    )}</ul></nav>
<p class="who">${caller.person !== undefined && html`${userText(caller.person)} <span class="quiet">in</span> `}<span class="quiet">tenant</span> ${userText(caller.tenant)}</p>`;
}
