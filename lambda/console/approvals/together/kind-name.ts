import type { ApprovalDocument } from '../../../operator/approval-document.ts';
import { type Html, html } from '../../markup.ts';
import { userText } from '../../text.ts';

/** The agent and the name of requests of one kind. */
export const kindName = ({ agent, name }: Pick<ApprovalDocument, 'agent' | 'name'>): Html =>
  html`${agent !== undefined && html`${userText(agent)} · `}${userText(name)}`;
