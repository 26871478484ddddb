/** The APIs and the products that are open to a consumer, with their documentation, and the way to subscribe. */

import { useRead } from '../../api/use-read.ts'
import { List } from '../../parts/list.tsx'
import { Page, Tabs } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { State, Time } from '../../parts/values.tsx'
import { BASE, path } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { Documentation } from './documentation.tsx'
import { OwnAccess, Subscribe } from './subscribe.tsx'
import './portal.css'

const words = texts.portal.apis
const TABS = [
  { path: '', title: words.title },
  { path: '/products', title: words.products },
]

export function PortalApis() {
  const [, first = '', second = ''] = path.value.split('/').map(decodeURIComponent)
  if (first === '') return <Apis />
  if (first !== 'products') return <Api key={first} name={first} />
  return second === '' ? <Products /> : <Product key={second} id={second} />
}

function Kinds({ current }: { readonly current: string }) {
  return may('products:read') ? <Tabs label={words.tabs} tabs={TABS} current={current} base={`${BASE}apis`} /> : null
}

function Apis() {
  const { columns } = words
  return (
    <Page title={words.title}>
      <Kinds current="" />
      <List
        path="/v1/apis"
        caption={words.title}
        keyOf={({ id }) => id}
        empty={{ text: words.none, commands: ['tollgate apis list'] }}
        columns={[
          {
            title: columns.title,
            cell: ({ id, title }) => (
              <a href={`${BASE}apis/${encodeURIComponent(id)}`}>
                <bdi>{title === '' ? id : title}</bdi>
              </a>
            ),
          },
          { title: columns.name, cell: ({ id }) => <code>{id}</code> },
          { title: columns.version, cell: ({ version }) => <bdi>{version}</bdi> },
          { title: columns.state, cell: ({ state }) => <State of={state} /> },
        ]}
      />
    </Page>
  )
}

function Products() {
  const { productColumns: columns } = words
  return (
    <Page title={words.products}>
      <Kinds current="/products" />
      <List
        path="/v1/products"
        caption={words.products}
        keyOf={({ id }) => id}
        empty={{ text: words.noProducts, commands: ['tollgate products list'] }}
        columns={[
          {
            title: columns.name,
            cell: ({ id, name }) => (
              <a href={`${BASE}apis/products/${encodeURIComponent(id)}`}>
                <bdi>{name}</bdi>
              </a>
            ),
          },
          { title: columns.apis, cell: ({ apis }) => <bdi>{apis.join(', ')}</bdi> },
        ]}
      />
    </Page>
  )
}

function Api({ name }: { readonly name: string }) {
  const reading = useRead('/v1/apis/:name', { params: { name } })
  const gateway = useRead('/.well-known/tollgate')
  return (
    <Loaded reading={reading}>
      {({ title, version, state, retirementDate }) => (
        <Page
          title={title === '' ? name : title}
          state={<State of={state} />}
          actions={may('subscriptions:write') ? <Subscribe to={{ api: name }} name={title} /> : undefined}
        >
          <dl class="facts">
            <dt>{words.address}</dt>
            <dd>
              <code>
                {gateway.data?.gatewayUrl}/{name}
              </code>
            </dd>
            <dt>{words.version}</dt>
            <dd>
              <bdi>{version}</bdi>
            </dd>
            {retirementDate !== null && (
              <>
                <dt>{words.retirement}</dt>
                <dd>
                  <Time at={retirementDate} />
                </dd>
              </>
            )}
          </dl>
          {may('subscriptions:read') && <OwnAccess query={{ ApiId: name }} />}
          <Documentation api={name} />
        </Page>
      )}
    </Loaded>
  )
}

function Product({ id }: { readonly id: string }) {
  const reading = useRead('/v1/products/:id', { params: { id } })
  return (
    <Loaded reading={reading}>
      {({ name, apis }) => (
        <Page
          title={name}
          actions={may('subscriptions:write') ? <Subscribe to={{ product: id }} name={name} /> : undefined}
        >
          <h2>{words.contents}</h2>
          <ul>
            {apis.map((each) => (
              <li key={each}>
                <a href={`${BASE}apis/${encodeURIComponent(each)}`}>
                  <code>{each}</code>
                </a>
              </li>
            ))}
          </ul>
          {may('subscriptions:read') && <OwnAccess query={{ ApiProductId: id }} />}
        </Page>
      )}
    </Loaded>
  )
}
