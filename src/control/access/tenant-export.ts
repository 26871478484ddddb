/**
 * The export of a tenant: all its documents without secrets, one JSON text per line.
 *
 * Documents are read in small batches while the client receives them, so that the memory does not grow with the tenant. The last line
 * has the number of documents. Without it the export is incomplete, and the tenant cannot be removed.
 */

import { shownBody } from '../command/audit-log.ts'
import { find, toTime } from '../command/commands.ts'
import { listAll } from '../command/page.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import {
  exportedFields,
  type Author,
  type Document,
  type DocumentKind,
  type Exported,
  type Registry,
} from '../../storage/store/registry.ts'
import { TENANT_KIND, tenantWrite, type TenantBody } from './platform-access.ts'

export interface TenantExportOptions {
  readonly registry: Registry
  readonly clock: Pick<Clock, 'nowMs'>
}

/** A batch may hold this many documents of 10 MB. */
const BATCH_MAX = 4

/** Returns the lines of the export. Throws `Problem('not_found')` before the first line. */
export async function exportTenant(
  options: TenantExportOptions,
  author: Author,
  tenant: string,
): Promise<AsyncGenerator<string>> {
  const { registry } = options
  const current = await find(registry, tenant, TENANT_KIND, tenant)
  await registry.audit(author, 'tenant.export', { kind: TENANT_KIND, id: tenant, tenant })
  return linesOf(options, author, current)
}

async function* linesOf(
  options: TenantExportOptions,
  author: Author,
  current: Document<TenantBody>,
): AsyncGenerator<string> {
  const { registry, clock } = options
  const { tenant } = current
  const startedMs = clock.nowMs()
  let documents = 0
  for (const [kind, fields] of exportedFields()) {
    for await (const document of listAll(registry, kind as DocumentKind<unknown>, { tenant, limit: BATCH_MAX })) {
      documents++
      yield toLine(document, fields)
    }
  }
  yield `${JSON.stringify({ end: true, tenant, documents })}\n`
  await noteExport(registry, author, current, startedMs)
}

function toLine({ kind, id, revision, body, ...times }: Document, fields: Exported): string {
  const shown = typeof fields === 'function' ? fields(body) : shownBody(body, fields)
  const [createdAt, updatedAt] = [toTime(times.createdAtMs), toTime(times.updatedAtMs)]
  return `${JSON.stringify({ kind, id, revision, createdAt, updatedAt, body: shown })}\n`
}

/** Notes the export of a disabled tenant, which can then be removed. */
async function noteExport(
  registry: Registry,
  author: Author,
  { tenant, revision, body }: Document<TenantBody>,
  exportedAtMs: number,
): Promise<void> {
  // A tenant that was enabled or disabled during the export has another revision.
  if (body.isDisabled !== true || (await registry.get(TENANT_KIND, tenant))?.revision !== revision) return
  await registry.commit(author, 'tenant.exported', [tenantWrite(tenant, revision, { ...body, exportedAtMs })])
}
