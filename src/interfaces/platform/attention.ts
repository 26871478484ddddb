/** `GET /v1/attention`: the matters that need attention now, each part only for callers that may read its resources. */

import { ATTENTION_KINDS, COUNT_MAX, REVISIONS_MAX, type Attention } from '../../control/attention/attention.ts'
import type { Entitlements } from '../../control/access/people/entitlements.ts'
import { pageOf } from '../../control/command/page.ts'
import { scopesFor } from './caller-owner.ts'
import type { Handlers, Operations } from './operation.ts'
import { id, list, named, nullable, object, pagedQuery, text, time } from './schemas.ts'

const subject = object({
  id,
  name: {
    ...text,
    description: 'The name of a consumer, the type of a risk, the state of a backend, the number of a revision.',
  },
  parent: { ...nullable(id), description: 'The resource that contains it: of a credential, the subscription.' },
  at: { ...nullable(time), description: 'Since when; of a credential, until when.' },
})
const attentionItem = named(
  'AttentionItem',
  object({
    kind: { type: 'string', enum: ATTENTION_KINDS },
    severity: { type: 'string', enum: ['Critical', 'Warning', 'Info'] },
    count: { type: 'integer' },
    isMore: {
      type: 'boolean',
      description: `Counting stopped: there are more than ${COUNT_MAX}, of revisions more than ${REVISIONS_MAX}.`,
    },
    subjects: { type: 'array', description: 'The first five.', items: subject },
  }),
)

export const ATTENTION_OPERATIONS = {
  readAttention: {
    method: 'GET',
    path: '/v1/attention',
    summary: 'Returns what needs attention now, the most severe first',
    description:
      'Open risks by severity, limits that are nearly used up (both need `risks:read`), backends that fail (`apis:read`), ' +
      'approvals that wait (`approvals:read`), webhooks that fail (`eventsubscriptions:read`), credentials that expire in ' +
      'the next 30 days (`credentials:read`), and staged revisions that wait for their activation (`proxies:read`). Parts that the caller may not read are left out. With the own width: risks, ' +
      'limits, webhooks and credentials of the consumer.',
    tag: 'Service',
    scope: 'attention:read',
    own: 'filtered',
    query: pagedQuery(),
    status: 200,
    answer: list(attentionItem),
  },
} as const satisfies Operations

export interface AttentionHandlersOptions {
  readonly attention: Attention
  readonly entitlements: Pick<Entitlements, 'ofUser'>
}

export function attentionHandlers({
  attention,
  entitlements,
}: AttentionHandlersOptions): Handlers<typeof ATTENTION_OPERATIONS> {
  return {
    async readAttention({ author, caller, owner, query }) {
      // The consumer that the caller acts for here may be none that another scope of the own width covers.
      const held = owner === null ? caller.scopes : await scopesFor(entitlements, caller, owner)
      const may = (resource: string): boolean =>
        held.has(`${resource}:read`) || (owner !== null && held.has(`${resource}:read:own`))
      return pageOf(await attention.read({ tenant: author.tenant, consumer: owner, may }), query)
    },
  }
}
