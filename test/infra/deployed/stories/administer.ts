import { describe, expect, it } from 'vitest';
import type { Finding } from '../../../../cli/commands/doctor/finding.ts';
import { runProcess } from '../../../cli/process.ts';
import type { Account } from '../account.ts';
import { deploy } from '../scene.ts';

/** The command line with the roles that `grantAdminister` made. */
export function administer(): void {
  describe('the command line with the role of an administrator', () => {
    const command = (account: Account, role: string, ...args: string[]) =>
      runProcess([...args, '--stack', account.deployed.target.stackName ?? ''], {
        env: account.environmentOfRole(role),
      });

    /** The findings of the doctor that are not ok. The API of this account has no address, so it is left out. */
    async function problems(account: Account, role: string, ...args: string[]): Promise<readonly string[]> {
      const { out, err } = await command(account, role, 'doctor', '--json', ...args);
      expect(err).toBe('');
      return out
        .trimEnd()
        .split('\n')
        .map((line): Finding => JSON.parse(line))
        .filter(({ check, status }) => status !== 'ok' && !check.startsWith('api'))
        .map(({ check, status, found }) => `${status} ${check}: ${found}`);
    }

    it('finds the stack by its name, which grantAdminister allows', async () => {
      const account = await deploy('plain');
      const { code, err } = await command(account, 'Administrator', 'runs');
      expect([code, err]).toEqual([0, expect.not.stringContaining('DescribeStacks')]);
    });

    it('doctor finds no problem with a role that is right', async () => {
      const account = await deploy('plain');
      expect(await problems(account, 'Administrator')).toEqual([]);
      expect(account.calls.filter(({ isAllowed }) => !isAllowed)).toEqual([]);
    });

    it('doctor finds no problem with a role that is restricted to tenants', async () => {
      const account = await deploy('tenants');
      expect(await problems(account, 'Administrator', '--tenant', 'acme')).toEqual([]);
      expect(await problems(account, 'Administrator', '--tenant', 'globex')).toEqual([]);
      expect(await problems(account, 'Administrator-acme', '--tenant', 'acme')).toEqual([
        'warn due index: not allowed: dynamodb:Query on index/due',
      ]);
      expect(await problems(account, 'Administrator-acme', '--tenant', 'globex')).toContainEqual(
        expect.stringMatching(/^fail table access: not allowed: dynamodb:GetItem/),
      );
    });

    it('doctor finds no problem with a role that may use the keys of a tenant', async () => {
      const account = await deploy('everything');
      expect(await problems(account, 'Administrator', '--tenant', 'acme')).toEqual([]);
    });
  });
}
