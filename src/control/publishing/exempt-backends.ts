/**
 * Marks the revisions that were activated before the backends of tenants were restricted to public addresses.
 *
 * Marked revisions serve unchanged; the next staged revision is checked. Runs once per data folder and marks active revisions
 * only.
 */

import { listAll } from '../command/page.ts'
import { documentKind, type Author, type Registry } from '../../storage/store/registry.ts'
import { PROXY_KIND, activeDeployment, proxyWrite } from './proxy-document.ts'

const MARKER_KIND = documentKind<unknown>('backend_exemption', 'hidden')
const MARKER_ID = 'backend_exemption'
const BATCH_MAX = 100

/** Whether `exemptOldBackends` has run. */
export async function areBackendsExempted(registry: Pick<Registry, 'get'>): Promise<boolean> {
  return (await registry.get(MARKER_KIND, MARKER_ID)) !== null
}

/** Returns the number of marked revisions. `tenant` is the tenant of the operator. */
export async function exemptOldBackends(registry: Registry, tenant: string): Promise<number> {
  if (await areBackendsExempted(registry)) return 0
  let count = 0
  for await (const { id, tenant: owner, revision, body } of listAll(registry, PROXY_KIND, { limit: BATCH_MAX })) {
    const deployment = activeDeployment(body)
    if (deployment === null) continue
    const active = String(body.actor.context.activeRevision)
    const deployments = { ...body.deployments, [active]: { ...deployment, isBackendExempt: true as const } }
    const author: Author = { tenant: owner, consumer: 'system' }
    await registry.commit(author, 'proxy.backend.exempt', [proxyWrite(id, owner, revision, { ...body, deployments })])
    count++
  }
  const marker = { kind: MARKER_KIND, id: MARKER_ID, tenant, expected: 0, body: {} }
  await registry.commit({ tenant, consumer: 'system' }, 'proxy.backend.exempt', [marker])
  return count
}
