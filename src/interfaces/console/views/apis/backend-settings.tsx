/** The backend of one revision: its targets, its certificate, the names of its secret headers, and its transformations. */

import { Facts, type Fact } from '../../parts/facts.tsx'
import { Table } from '../../parts/table.tsx'
import { Time, toNumber } from '../../parts/values.tsx'
import { texts } from '../../texts.ts'
import { sharesOf, type Backend } from './backend-draft.ts'
import { readCertificates, type CertificateFacts } from './certificate-facts.ts'
import { rowsOf } from './transform-rows.ts'
import type { Proxy } from './proxy.ts'

const words = texts.apis.backend

export interface Settings {
  readonly backend: Backend
  readonly transform: Proxy['transform']
  readonly backendSource: Proxy['backendSource']
}

export function BackendSettings({ backend, transform, backendSource }: Settings) {
  const { secretHeaders = [] } = backend
  return (
    <>
      {backend.targets !== undefined && <Targets targets={backend.targets} />}
      <Facts of={factsOf(backend, backendSource)} />
      <h3>{words.tls}</h3>
      <Tls tls={backend.tls} />
      <h3>{words.secretHeaders}</h3>
      {secretHeaders.length === 0 ? (
        <p class="quiet">{words.noSecretHeaders}</p>
      ) : (
        <>
          <ul class="names">
            {secretHeaders.map(({ name }) => (
              <li key={name}>
                <code>{name}</code>
              </li>
            ))}
          </ul>
          <p class="quiet">{words.secretValues}</p>
        </>
      )}
      <h3>{words.transform}</h3>
      <Transformation transform={transform} />
    </>
  )
}

function Targets({ targets }: { readonly targets: NonNullable<Backend['targets']> }) {
  const shares = sharesOf(targets)
  const rows = targets.map((target, index) => ({ ...target, share: shares[index] ?? 0 }))
  const { columns } = words
  return (
    <Table
      caption={words.targets}
      rows={rows}
      keyOf={({ url }) => url}
      columns={[
        { title: columns.url, cell: ({ url }) => <Address of={url} /> },
        { title: columns.weight, isNumber: true, cell: ({ weight = 1 }) => toNumber(weight) },
        { title: columns.share, isNumber: true, cell: ({ share }) => words.percent(toNumber(Math.round(share))) },
      ]}
    />
  )
}

function Address({ of }: { readonly of: string }) {
  return (
    <bdi>
      <code>{of}</code>
    </bdi>
  )
}

function factsOf(backend: Backend, source: Settings['backendSource']): readonly Fact[] {
  const { url, targets, balance = 'roundRobin', timeoutMs, health, connections, waitMs } = backend
  return [
    url === undefined ? null : [words.columns.url, <Address of={url} />],
    targets === undefined ? null : [words.balance, words.balances[balance]],
    [words.timeout, words.ms(toNumber(timeoutMs))],
    [words.health, health === undefined ? words.noHealth : <Address of={health} />],
    [words.connections, connections === undefined ? words.defaultConnections : toNumber(connections)],
    waitMs === undefined ? null : [words.wait, words.ms(toNumber(waitMs))],
    source === null ? null : [words.source, words.sources[source]],
  ]
}

function Tls({ tls }: { readonly tls: Backend['tls'] | undefined }) {
  if (tls === undefined) return <p class="quiet">{words.noTls}</p>
  const [own, ...issuers] = readCertificates(tls.certificate ?? '')
  const authorities = readCertificates(tls.ca ?? '')
  return (
    <Facts
      of={[
        own === undefined ? null : [words.certificate, <Certificate of={own} />],
        ...issuers.map((each): Fact => [words.issuer, <Certificate of={each} />]),
        tls.hasKey ? [words.key, words.hasKey] : null,
        ...(tls.ca === undefined ? [[words.authority, words.publicAuthorities] as const] : []),
        ...authorities.map((each): Fact => [words.authority, <Certificate of={each} />]),
      ]}
    />
  )
}

function Certificate({ of }: { readonly of: CertificateFacts | null }) {
  if (of === null) return <>{words.unreadable}</>
  const isExpired = Date.parse(of.expiresAt) <= Date.now()
  return (
    <>
      <bdi>{of.subject === '' ? words.noSubject : of.subject}</bdi>{' '}
      <span class="quiet">
        {isExpired ? words.expired : words.expires} <Time at={of.expiresAt} />
      </span>
    </>
  )
}

function Transformation({ transform }: Pick<Settings, 'transform'>) {
  const rows = transform === null ? [] : rowsOf(transform)
  const { columns } = words
  if (transform === null || (rows.length === 0 && transform.basePath === undefined))
    return <p class="quiet">{words.noTransform}</p>
  const { basePath } = transform
  return (
    <>
      {basePath !== undefined && (
        <Facts
          of={[
            [words.pathFrom, <Address of={basePath.from} />],
            [words.pathTo, <Address of={basePath.to} />],
          ]}
        />
      )}
      {rows.length > 0 && (
        <Table
          caption={words.transform}
          rows={rows.map((row, index) => ({ ...row, index }))}
          keyOf={({ index }) => String(index)}
          columns={[
            { title: columns.header, cell: ({ name }) => <code>{name}</code> },
            { title: columns.direction, cell: ({ direction }) => words.directions[direction] },
            { title: columns.step, cell: ({ step }) => words.steps[step] },
            { title: columns.value, cell: ({ value }) => <Address of={value === '' ? words.removedValue : value} /> },
          ]}
        />
      )}
    </>
  )
}
