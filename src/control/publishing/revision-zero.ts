/**
 * Migrates proxies that were stored before revisions existed. Each is converted once, at startup, and continues to serve
 * unchanged as revision 0; the next one staged is revision 1.
 */

import { begin } from '../command/persisted-machine.ts'
import { proxy as machine } from './proxy-machine.ts'
import { listAll } from '../command/page.ts'
import type { Author, Registry } from '../../storage/store/registry.ts'
import { PROXY_KIND, proxyWrite, type Deployment, type ProxyBody } from './proxy-document.ts'

/** The stored form of a proxy before revisions existed. */
export interface OldProxyBody {
  readonly api: string
  readonly deployment: Deployment
  readonly memberOfProductIds?: readonly string[]
}

const BATCH_MAX = 100

/** Returns the number of migrated proxies. */
export async function migrateOldProxies(registry: Registry): Promise<number> {
  let count = 0
  for await (const proxy of listAll(registry, PROXY_KIND, { limit: BATCH_MAX })) {
    const { id, tenant, revision, createdAtMs } = proxy
    const body = proxy.body as ProxyBody | OldProxyBody
    if ('actor' in body) continue
    const author: Author = { tenant, consumer: 'system' }
    const actor = begin(machine, { hasRevisionZero: true, atMs: createdAtMs }) as ProxyBody['actor']
    const { api, deployment, memberOfProductIds = [] } = body
    const next: ProxyBody = { api, actor, deployments: { 0: deployment }, memberOfProductIds }
    await registry.commit(author, 'proxy.revision.zero', [proxyWrite(id, tenant, revision, next)])
    count++
  }
  return count
}
