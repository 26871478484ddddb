/** The manifests follow the published schema of Kubernetes, and agree with each other and with the service. */

import { globSync } from 'node:fs'
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { SERVICE_OPERATIONS } from '../../../src/interfaces/platform/service-routes.ts'
import { faultsOf, readYaml, ROOT, saysNotStarted, unknownSettings } from '../../fixtures/deployment.ts'
import { readRealDocument } from '../../fixtures/real-documents.ts'

type Labels = Readonly<Record<string, string>>

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels: Labels }
  readonly spec: Readonly<Record<string, unknown>>
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

interface Variable {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: { readonly secretKeyRef?: { readonly name: string; readonly key: string } }
}

interface Container {
  readonly env: readonly Variable[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly resources: { readonly limits: { readonly cpu: string } }
  readonly securityContext: object
  readonly volumeMounts: readonly { readonly name: string }[]
  readonly startupProbe: Probe
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe & { readonly periodSeconds: number; readonly failureThreshold: number }
}

interface StatefulSpec {
  readonly serviceName: string
  readonly selector: { readonly matchLabels: Labels }
  readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec }
  readonly volumeClaimTemplates: readonly { readonly metadata: { readonly name: string } }[]
}

interface PodSpec {
  readonly containers: readonly [Container]
  readonly enableServiceLinks: boolean
  readonly securityContext: object
  readonly terminationGracePeriodSeconds: number
  readonly volumes: readonly { readonly name: string }[]
}

interface ServiceSpec {
  readonly clusterIP?: string
  readonly selector: Labels
  readonly ports: readonly { readonly targetPort: string }[]
}

const files = globSync('deploy/kubernetes/*.yaml', { cwd: ROOT }).sort()
const manifests = files.flatMap((file) => readYaml<Manifest>(file))
const ofKind = (kind: string): readonly Manifest[] => manifests.filter((each) => each.kind === kind)
const [stateful] = ofKind('StatefulSet') as [Manifest]
const set = stateful.spec as unknown as StatefulSpec
const pod = set.template.spec
const [container] = pod.containers

interface Schema {
  readonly 'x-kubernetes-group-version-kind'?: readonly {
    readonly group: string
    readonly version: string
    readonly kind: string
  }[]
}

const published = JSON.parse(readRealDocument({ name: 'kubernetes.io', path: null }).toString()) as {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** Objects with listed members take no others, and numbers may stand for strings where Kubernetes says so. */
function strict(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(strict)
  if (typeof node !== 'object' || node === null) return node
  const { format, ...members } = node as Record<string, unknown>
  if (format === 'int-or-string') return { type: ['integer', 'string'] }
  const copy = Object.fromEntries(Object.entries(members).map(([name, value]) => [name, strict(value)]))
  const isClosed = 'properties' in copy && !('additionalProperties' in copy) && members['type'] === 'object'
  return isClosed ? { ...copy, additionalProperties: false } : copy
}

const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false })
ajv.addSchema({ $id: 'kubernetes', components: strict(published.components) as object })

function faultsAgainstSchema({ apiVersion, kind }: Manifest, manifest: unknown): unknown {
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion]
  const found = Object.entries(published.components.schemas).find(([, schema]) =>
    schema['x-kubernetes-group-version-kind']?.some(
      (known) => known.group === group && known.version === version && known.kind === kind,
    ),
  )
  if (found === undefined) return `${apiVersion} ${kind} does not exist`
  const validate = ajv.compile({ $ref: `kubernetes#/components/schemas/${found[0]}` })
  return validate(manifest) ? null : validate.errors
}

describe('The manifests for Kubernetes', () => {
  it('are those of a node with a volume, its services, and its bounds', () => {
    expect(manifests.map(({ kind }) => kind).sort()).toEqual([
      'HorizontalPodAutoscaler',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
      'Service',
      'Service',
      'StatefulSet',
    ])
  })

  it.each(manifests.map((manifest) => [manifest.kind, manifest.metadata.name, manifest] as const))(
    'have a %s %s that follows the schema of Kubernetes',
    (_kind, _name, manifest) => {
      expect(faultsAgainstSchema(manifest, manifest)).toBeNull()
      const misspelt = { ...manifest, spec: { ...manifest.spec, selektor: {} } }
      expect(faultsAgainstSchema(manifest, misspelt)).not.toBeNull()
    },
  )

  it('refer to a container field by its name only if it exists', () => {
    const misspelt = structuredClone(stateful) as unknown as { spec: { template: { spec: { containers: object[] } } } }
    Object.assign(misspelt.spec.template.spec.containers[0]!, { readynessProbe: {} })
    expect(faultsAgainstSchema(stateful, misspelt)).not.toBeNull()
  })

  it('say that they were checked and never applied', () => {
    expect(files.filter((file) => !saysNotStarted(file))).toEqual([])
  })

  it('select the pods of the StatefulSet', () => {
    const { labels } = set.template.metadata
    const selectors = [
      set.selector.matchLabels,
      ...ofKind('Service').map(({ spec }) => spec['selector'] as Labels),
      ...ofKind('PodDisruptionBudget').map(({ spec }) => (spec['selector'] as { matchLabels: Labels }).matchLabels),
      ...ofKind('NetworkPolicy').map(({ spec }) => (spec['podSelector'] as { matchLabels: Labels }).matchLabels),
    ]
    expect(selectors).toHaveLength(6)
    expect(
      selectors.filter((selector) => Object.entries(selector).some(([name, value]) => labels[name] !== value)),
    ).toEqual([])
    const [scaler] = ofKind('HorizontalPodAutoscaler') as [Manifest]
    expect(scaler.spec['scaleTargetRef']).toEqual({
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      name: stateful.metadata.name,
    })
  })

  it('name only ports, volumes and services that exist', () => {
    const ports = container.ports.map(({ name }) => name)
    const services = ofKind('Service').map(({ metadata, spec }) => ({ metadata, spec: spec as unknown as ServiceSpec }))
    expect(
      services
        .flatMap(({ spec }) => spec.ports.map(({ targetPort }) => targetPort))
        .filter((port) => !ports.includes(port)),
    ).toEqual([])
    const volumes = [...pod.volumes, ...set.volumeClaimTemplates.map(({ metadata }) => metadata)].map(
      ({ name }) => name,
    )
    expect(container.volumeMounts.map(({ name }) => name).sort()).toEqual(volumes.sort())
    const headless = services.filter(({ spec }) => spec.clusterIP === 'None').map(({ metadata }) => metadata.name)
    expect(headless).toEqual([set.serviceName])
  })

  it('give each pod a volume, no root, and a root file system that it cannot write', () => {
    expect(set.volumeClaimTemplates).toHaveLength(1)
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 10_001, fsGroup: 10_001 })
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
  })

  it('probe paths of the service that exist, and restart no pod that is only not ready', () => {
    const { startupProbe, livenessProbe, readinessProbe } = container
    const probes = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet)
    expect(probes).toEqual([
      { path: SERVICE_OPERATIONS.getHealth.path, port: 'platform' },
      { path: SERVICE_OPERATIONS.getHealth.path, port: 'platform' },
      { path: SERVICE_OPERATIONS.getReadiness.path, port: 'platform' },
    ])
  })

  it('set only settings that exist, to values that the service takes', () => {
    const environment = Object.fromEntries(container.env.map(({ name, value = sampleOf(name) }) => [name, value]))
    expect(unknownSettings(environment)).toEqual([])
    expect(faultsOf(environment)).toEqual([])
    expect(environment['GATEWAY_THREADS']).toBe(container.resources.limits.cpu)
    const ports = Object.fromEntries(container.ports.map(({ name, containerPort }) => [name, containerPort]))
    expect(ports).toEqual({ gateway: 8080, platform: 8081, metrics: Number(environment['METRICS_PORT']) })
  })

  it('contain no secret: each comes from one secret by reference', () => {
    const secrets = container.env.filter(({ name }) => /KEY|SECRET|TOKEN|(?:DATABASE|REDIS|CLICKHOUSE)_URL/.test(name))
    expect(secrets.map(({ name }) => name).sort()).toEqual([
      'ADMIN_CLIENT_SECRET',
      'CLICKHOUSE_URL',
      'DATABASE_URL',
      'MASTER_KEY',
      'METRICS_TOKEN',
      'REDIS_URL',
    ])
    const references = secrets.map(({ name, valueFrom }) => [name, valueFrom?.secretKeyRef])
    expect(references).toEqual(secrets.map(({ name }) => [name, { name: 'tollgate', key: name }]))
  })

  it('give a pod more time to stop than the service needs', () => {
    const delay = Number(container.env.find(({ name }) => name === 'STOP_DELAY_SECONDS')?.value)
    // Calls in flight have 30 seconds, the last flush 10.
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(delay + 30 + 10 + 30)
    const { periodSeconds, failureThreshold } = container.readinessProbe
    expect(delay).toBeGreaterThan(2 * periodSeconds * failureThreshold)
  })

  it('keep the variables of services from the pod, which look like settings', () => {
    expect(pod.enableServiceLinks).toBe(false)
  })
})

/** A value of the form that the secret has. */
function sampleOf(name: string): string {
  const scheme = name === 'DATABASE_URL' ? 'postgres' : name === 'REDIS_URL' ? 'redis' : 'http'
  if (name.endsWith('_URL')) return `${scheme}://user:password@store:1234/tollgate`
  return 'abcdef0123456789abcdef0123456789'
}
