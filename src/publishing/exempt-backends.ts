/**
 * Marks the revisions that were activated before tenants' backends were held to public addresses.
 *
 * They serve unchanged until the next staging, which is checked. Runs once for a data folder; a revision that was
 * only staged by then, or is no longer active, gets no mark.
 */

import { documentKind, type Author, type Registry } from '../store/registry.ts'
import { PROXY_KIND, activeDeployment, proxyWrite } from './proxy-document.ts'

const MARKER_KIND = documentKind<unknown>('backend_exemption')
const MARKER_ID = 'backend_exemption'
const PAGE = 100

/** Returns how many revisions were marked. `tenant` is the operator's. */
export async function exemptOldBackends(registry: Registry, tenant: string): Promise<number> {
  if ((await registry.get(MARKER_KIND, MARKER_ID)) !== null) return 0
  let count = 0
  for (let after = ''; ;) {
    const page = await registry.list(PROXY_KIND, { after, limit: PAGE })
    for (const { id, tenant: owner, revision, body } of page) {
      const deployment = activeDeployment(body)
      if (deployment === null) continue
      const active = String(body.actor.context.activeRevision)
      const deployments = { ...body.deployments, [active]: { ...deployment, isBackendExempt: true as const } }
      const author: Author = { tenant: owner, consumer: 'system' }
      await registry.commit(author, 'proxy.backend.exempt', [proxyWrite(id, owner, revision, { ...body, deployments })])
      count++
    }
    if (page.length < PAGE) break
    after = page.at(-1)?.id ?? ''
  }
  const marker = { kind: MARKER_KIND, id: MARKER_ID, tenant, expected: 0, body: {} }
  await registry.commit({ tenant, consumer: 'system' }, 'proxy.backend.exempt', [marker])
  return count
}
