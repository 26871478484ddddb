/** What one match costs in a table of more than a thousand operations, and the scan of the target before it. */

import { scanTarget } from '../../src/gateway/routing/path.ts'
import { createRouteTable } from '../../src/gateway/routing/route-table.ts'
import { readGithubDocument } from '../../test/fixtures/real-documents.ts'
import { measure } from '../harness.ts'

const { paths } = JSON.parse(readGithubDocument().toString()) as { paths: Record<string, object> }
const operations = Object.entries(paths).flatMap(([path, item]) =>
  ['get', 'put', 'post', 'patch', 'delete']
    .filter((method) => method in item)
    .map((method) => ({ method: method.toUpperCase(), path })),
)
const routes = createRouteTable(operations)
const calls = operations.map(({ method, path }) => ({
  method,
  // As it comes from a socket: one flat string behind a technical name.
  target: Buffer.from(`/github-v3${path.replaceAll(/\{[^}]*\}/g, 'octocat-17')}?page=2`).toString('latin1'),
}))
const PREFIX = '/github-v3'.length

measure({
  name: `route-table/${operations.length}-operations`,
  operations: calls.length,
  run() {
    let sum = 0
    for (const { method, target } of calls) {
      const found = routes.find(method, target, PREFIX, target.length - 7)
      if (found !== null && 'operation' in found) sum += found.operation
    }
    return sum
  },
})

measure({
  name: 'scan-target',
  operations: calls.length,
  run() {
    let sum = 0
    for (const { target } of calls) sum += scanTarget(target)
    return sum
  },
})
