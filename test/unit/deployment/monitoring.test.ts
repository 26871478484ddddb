/** Prometheus, its alerts, Grafana and HAProxy name only what the service and the other deployment files have. */

import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SERVICE_OPERATIONS } from '../../../src/interfaces/platform/service-routes.ts'
import { EVENT_REASONS } from '../../../src/foundation/runtime/event-reasons.ts'
import { readDeployment, readYaml, ROOT } from '../../fixtures/deployment.ts'

interface Panel {
  readonly id: number
  readonly title: string
  readonly datasource: { readonly uid: string }
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[]
}

interface Dashboard {
  readonly uid: string
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition: string }[] }
}

interface Compose {
  readonly services: Readonly<
    Record<string, { readonly volumes?: readonly string[]; readonly environment?: Readonly<Record<string, unknown>> }>
  >
}

interface Prometheus {
  readonly rule_files: readonly string[]
  readonly scrape_configs: readonly {
    readonly job_name: string
    readonly static_configs: readonly [{ readonly targets: readonly string[] }]
  }[]
}

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly expr: string }[] }[]
}

const dashboard = JSON.parse(readDeployment('deploy/grafana/dashboards/tollgate.json')) as Dashboard
const [prometheus] = readYaml<Prometheus>('deploy/prometheus.yml') as [Prometheus]
const rules = readYaml<Rules>('deploy/prometheus-rules.yml').flatMap(({ groups }) =>
  groups.flatMap((group) => group.rules),
)
const [compose] = readYaml<Compose>('compose.yaml') as [Compose]
const haproxy = readDeployment('deploy/haproxy.cfg')

const expressions = [
  ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ...dashboard.templating.list.map(({ definition }) => definition),
  ...rules.map(({ expr }) => expr),
]

/** The metrics of the service with the names of their labels, from the places that register them. */
function registered(): ReadonlyMap<string, readonly string[]> {
  const sources = globSync('src/**/*.ts', { cwd: ROOT }).map((file) => readDeployment(file))
  const found = sources.flatMap((text) => [
    ...text.matchAll(/\.(?:counter|measured)\(\s*'(\w+)'(?:,\s*(?:'[^']*'|\w+),\s*\[([^\]]*)\])?/g),
  ])
  return new Map(
    found.map(([, name = '', labels = '']) => [
      `tollgate_${name}`,
      [...labels.matchAll(/'(\w+)'/g)].map(([, label = '']) => label),
    ]),
  )
}

describe('The monitoring', () => {
  const metrics = registered()

  it('shows every metric of the service, and names no other', () => {
    const named = expressions.flatMap((expr) => expr.match(/\btollgate_[a-z_]+/g) ?? [])
    expect([...new Set(named)].sort()).toEqual([...metrics.keys()].sort())
  })

  it('selects and groups by labels that the metrics have', () => {
    // Prometheus adds these.
    const added = ['instance', 'job']
    const wrong = expressions.flatMap((expr) => {
      const labels = [...expr.matchAll(/(tollgate_[a-z_]+)\{([^}]*)\}/g)].flatMap(([, name = '', selector = '']) =>
        [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => ({ name, label })),
      )
      return labels.filter(({ name, label }) => ![...added, ...(metrics.get(name) ?? [])].includes(label))
    })
    expect(wrong).toEqual([])
  })

  it('names only reasons of events that exist, and alerts on those that the documentation names', () => {
    const lists = expressions.flatMap((expr) => [...expr.matchAll(/reason=~"([^"]+)"/g)].map(([, list = '']) => list))
    expect(lists.length).toBeGreaterThan(1)
    expect(lists.flatMap((list) => list.split('|')).filter((reason) => !(reason in EVENT_REASONS))).toEqual([])
    const [, sentence = ''] = /^Alert on ([^.]*)\./m.exec(readDeployment('docs/operations.md')) ?? []
    const documented = [...sentence.matchAll(/`(\w+)`/g)].map(([, reason = '']) => reason)
    expect([...new Set(lists.map((list) => list.split('|').sort().join()))]).toEqual([documented.sort().join()])
  })

  it('has a dashboard whose panels neither overlap nor leave the grid, and read the provisioned data source', () => {
    const { panels } = dashboard
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const cells = panels.flatMap(({ title, gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => ({ title, x: x + (index % w), y: y + Math.floor(index / w) })),
    )
    expect(cells.filter(({ x }) => x < 0 || x >= 24)).toEqual([])
    expect(new Set(cells.map(({ x, y }) => `${x} ${y}`)).size).toBe(cells.length)
    const [source] = readYaml<{ readonly datasources: readonly { readonly uid: string; readonly url: string }[] }>(
      'deploy/grafana/provisioning/datasources/prometheus.yml',
    )
    expect(source?.datasources.map(({ uid, url }) => [uid, new URL(url).hostname in compose.services])).toEqual([
      ['prometheus', true],
    ])
    const used = panels.flatMap(({ datasource, targets }) => [datasource, ...targets.map((each) => each.datasource)])
    expect([...new Set(used.map(({ uid }) => uid))]).toEqual(['prometheus'])
    const [provider] = readYaml<{ readonly providers: readonly { readonly options: { readonly path: string } }[] }>(
      'deploy/grafana/provisioning/dashboards/tollgate.yml',
    )
    const path = provider?.providers[0]?.options.path ?? ''
    expect(compose.services['grafana']?.volumes).toContain(`./deploy/grafana/dashboards:${path}:ro`)
  })

  it('scrapes each node and the load balancer at ports that they have', () => {
    const { scrape_configs: jobs, rule_files: files } = prometheus
    const nodes = Object.entries(compose.services).filter(([name]) => /^node\d$/.test(name))
    expect(Object.fromEntries(jobs.map((each) => [each.job_name, each.static_configs[0].targets]))).toEqual({
      tollgate: nodes.map(([name, { environment }]) => `${name}:${String(environment?.['METRICS_PORT'])}`),
      haproxy: [`haproxy:${/frontend metrics\n +bind :(\d+)/.exec(haproxy)?.[1]}`],
    })
    expect(files.filter((file) => !existsSync(join(ROOT, 'deploy', file)))).toEqual([])
  })

  it('balances the nodes of compose.yaml, and watches a path that exists', () => {
    const nodes = Object.keys(compose.services).filter((name) => /^node\d$/.test(name))
    const servers = [...haproxy.matchAll(/^ +server (\w+) (\w+):(\d+)(?: port (\d+))?$/gm)].map((match) =>
      match.slice(1),
    )
    expect(servers).toEqual([
      ...nodes.map((name) => [name, name, '8080', '8081']),
      ...nodes.map((name) => [name, name, '8081', undefined]),
    ])
    const watched = [...haproxy.matchAll(/^ +http-check send meth GET uri (\S+)/gm)].map(([, path]) => path)
    expect(watched).toEqual([SERVICE_OPERATIONS.getReadiness.path, SERVICE_OPERATIONS.getReadiness.path])
  })
})
