import { componentSchemas } from './open-api.ts';
// Registers the schemas.
import './schemas/invocation.ts';

/** What a program receives, and what it prints if it is asked for its agents. */
const RECEIVED = ['Invocation', 'NotifyRequest', 'DescribeRequest'] as const;

/**
 * The JSON Schema of what an agent in another language receives: on standard input, as a Lambda event, or from a claim.
 * The definitions are those of the OpenAPI document, which also has the requests that the agent sends.
 */
export function protocolSchema(): object {
  const all = componentSchemas();
  const $defs: Record<string, unknown> = {};
  const define = (id: string): void => {
    if (Object.hasOwn($defs, id)) return;
    const text = JSON.stringify(all[id]);
    $defs[id] = JSON.parse(text.replaceAll(COMPONENT, DEFINITION));
    for (const [, other = ''] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) define(other);
  };
  for (const id of [...RECEIVED, 'Description']) define(id);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'urn:waitstate:protocol:1',
    title: 'Waitstate protocol 1',
    description:
      'What an agent in another language receives: a run to resume, a request to notify approvers, or a request to describe its agents. Ignore unknown fields.',
    anyOf: RECEIVED.map((id) => ({ $ref: `${DEFINITION}${id}` })),
    $defs,
  };
}

const COMPONENT = '#/components/schemas/';
const DEFINITION = '#/$defs/';
