/** `/v1/audit`: each change with its actor, its time and the revisions before and after. */

import type { Audit } from '../../control/command/audit-log.ts'
import type { Handlers, Operations } from './operation.ts'
import { list, named, object, pagedQuery, reference, text, time } from './schemas.ts'

const revision = { type: ['integer', 'null'] } as const
const body = { type: ['object', 'null'], description: 'The document without its secrets.' } as const
const actor = object({ consumer: text, agent: text, person: text }, ['consumer'])
const record = named(
  'AuditRecord',
  object({
    time,
    actor,
    action: text,
    kind: text,
    id: text,
    fromRevision: revision,
    toRevision: revision,
    before: body,
    after: body,
  }),
)

export const AUDIT_OPERATIONS = {
  listAudit: {
    method: 'GET',
    path: '/v1/audit',
    summary: 'Lists audit entries, newest first; entries are never changed or removed',
    description:
      'Delivery attempts of webhooks are included only if `kind` (webhook_delivery), `id` or `action` selects them.',
    tag: 'Audit',
    scope: 'audit:read',
    query: pagedQuery({ kind: reference, id: reference, action: reference, consumer: reference }),
    status: 200,
    answer: list(record),
  },
} as const satisfies Operations

export function auditHandlers({ audit }: { readonly audit: Audit }): Handlers<typeof AUDIT_OPERATIONS> {
  return {
    listAudit: async ({ author, query }) => audit.list(author.tenant, query),
  }
}
