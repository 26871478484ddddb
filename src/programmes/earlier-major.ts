/** Finds the major version that serves beside a new one, whose callers will have to migrate. */

import type { Registry } from '../store/registry.ts'
import { PROXY_KIND, activeDeployment } from '../publishing/proxy-document.ts'
import { readContent } from '../publishing/published-content.ts'
import { API_KIND } from '../publishing/apis.ts'

const PAGE = 500
const MAJOR = /^(.+-v)(\d+)$/

/** The document of the highest major below that of `api` that serves; null: there is none. */
export async function findEarlierMajor(registry: Registry, tenant: string, api: string): Promise<Uint8Array | null> {
  const [, family = '', major = '0'] = MAJOR.exec(api) ?? []
  const lower: { readonly name: string; readonly major: number }[] = []
  for (let after: string | undefined; ;) {
    const page = await registry.list(API_KIND, { tenant, limit: PAGE, ...(after !== undefined && { after }) })
    for (const { id } of page) {
      const [, of, number = ''] = MAJOR.exec(id) ?? []
      if (of === family && Number(number) < Number(major)) lower.push({ name: id, major: Number(number) })
    }
    after = page.at(-1)?.id
    if (page.length < PAGE) break
  }
  for (const { name } of lower.sort((a, b) => b.major - a.major)) {
    const proxy = await registry.find(PROXY_KIND, 'api', name)
    const deployment = proxy === null ? null : activeDeployment(proxy.body)
    if (deployment !== null) return (await readContent(registry, tenant, deployment.specification)).bytes
  }
  return null
}
