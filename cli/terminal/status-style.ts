import type { ApprovalStatus } from '../../lambda/core/approval.ts';
import type { Status } from '../../lambda/core/status.ts';
import { type Style, type StyledText, styled } from './line.ts';

const STYLES: Readonly<Record<Status | ApprovalStatus, Style>> = {
  READY: 'blue',
  RUNNING: 'cyan',
  WAITING_FOR_APPROVAL: 'yellow',
  WAITING_FOR_SIGNAL: 'yellow',
  SLEEPING: 'dim',
  ENDING: 'magenta',
  SUCCEEDED: 'green',
  FAILED: 'red',
  CANCELLED: 'magenta',
  PENDING: 'yellow',
  APPROVED: 'green',
  REJECTED: 'red',
  EXPIRED: 'magenta',
  WITHDRAWN: 'dim',
};

/** A status in its color. */
export const statusText = (status: Status | ApprovalStatus): StyledText => styled(STYLES[status], status);
