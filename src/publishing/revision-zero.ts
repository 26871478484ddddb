/**
 * Deployments that are older than revisions: their proxy names what it deploys and nothing else. They are
 * read once, at the start, and serve unchanged as revision 0; what comes after them is revision 1.
 */

import { begin } from '../command/persisted-machine.ts'
import { proxy as machine } from './proxy-machine.ts'
import type { Author, Document, Registry } from '../store/registry.ts'
import { PROXY_KIND, proxyWrite, type Deployment, type ProxyBody } from './proxy-document.ts'

/** A proxy as it was before revisions. */
export interface OldProxyBody {
  readonly api: string
  readonly deployment: Deployment
  readonly memberOfProductIds?: readonly string[]
}

const PAGE = 100

/** Resolves with how many were brought up. */
export async function bringUpOldProxies(registry: Registry): Promise<number> {
  let count = 0
  for (let after = ''; ;) {
    const page: readonly Document<ProxyBody | OldProxyBody>[] = await registry.list(PROXY_KIND, { after, limit: PAGE })
    const old = page.filter((proxy): proxy is Document<OldProxyBody> => !('actor' in proxy.body))
    for (const { id, tenant, revision, body, createdAtMs } of old) {
      const author: Author = { tenant, consumer: 'system' }
      const actor = begin(machine, { hasRevisionZero: true, atMs: createdAtMs }) as ProxyBody['actor']
      const { api, deployment, memberOfProductIds = [] } = body
      const next: ProxyBody = { api, actor, deployments: { 0: deployment }, memberOfProductIds }
      await registry.commit(author, 'proxy.revision.zero', [proxyWrite(id, tenant, revision, next)])
    }
    count += old.length
    if (page.length < PAGE) return count
    after = page.at(-1)?.id ?? ''
  }
}
