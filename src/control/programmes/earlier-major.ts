/** Finds the active major version before a new one, whose callers will have to migrate. */

import type { Registry } from '../../storage/store/registry.ts'
import { PROXY_KIND, activeDeployment } from '../publishing/proxy-document.ts'
import { readContent } from '../publishing/published-content.ts'
import { API_KIND } from '../publishing/apis.ts'
import { listAll } from '../command/page.ts'

const MAJOR = /^(.+-v)(\d+)$/

/** Returns the document of the highest active major version below that of `api`; null if there is none. */
export async function findEarlierMajor(registry: Registry, tenant: string, api: string): Promise<Uint8Array | null> {
  const [, family = '', major = '0'] = MAJOR.exec(api) ?? []
  const lower: { readonly name: string; readonly major: number }[] = []
  for await (const { id } of listAll(registry, API_KIND, { tenant })) {
    const [, of, number = ''] = MAJOR.exec(id) ?? []
    if (of === family && Number(number) < Number(major)) lower.push({ name: id, major: Number(number) })
  }
  for (const { name } of lower.sort((a, b) => b.major - a.major)) {
    const proxy = await registry.find(PROXY_KIND, 'api', name)
    const deployment = proxy === null ? null : activeDeployment(proxy.body)
    if (deployment !== null) return (await readContent(registry, tenant, deployment.specification)).bytes
  }
  return null
}
