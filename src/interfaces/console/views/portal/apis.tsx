/** The APIs and the products that are open to a consumer, and the way to subscribe. */

import { useRead } from '../../api/use-read.ts'
import { Filters, SelectFilter, TextFilter } from '../../parts/filters.tsx'
import { List } from '../../parts/list.tsx'
import { Page, Tabs } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { State } from '../../parts/values.tsx'
import { BASE, query, segment } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { Api } from './api.tsx'
import { Subscribe } from './subscribe.tsx'
import { AccessList } from './access-list.tsx'

const words = texts.portal.apis
const SHOWN = '20'
const TABS = [
  { path: '', title: words.title },
  { path: '/products', title: words.products },
]

export function PortalApis() {
  const [first, second] = [segment(1), segment(2)]
  if (first === '') return <Apis />
  if (first !== 'products') return <Api key={first} name={first} tab={second} />
  return second === '' ? <Products /> : <Product key={second} id={second} />
}

function Kinds({ current }: { readonly current: string }) {
  return may('products:read') ? <Tabs label={words.tabs} tabs={TABS} current={current} base={`${BASE}apis`} /> : null
}

function Apis() {
  const { columns } = words
  const { filters, states, noneInState } = texts.apis
  const state = query.value.get('state') ?? ''
  const name = (query.value.get('name') ?? '').toLowerCase().replaceAll(/[^a-z0-9-]+/g, '-')
  return (
    <Page title={words.title}>
      <Kinds current="" />
      <Filters>
        <TextFilter name="name" label={filters.name} />
        <SelectFilter name="state" label={filters.state} options={[['', filters.all], ...Object.entries(states)]} />
      </Filters>
      <List
        path="/v1/apis"
        query={{ state, id: name }}
        caption={words.title}
        keyOf={({ id }) => id}
        empty={
          state === '' && name === '' ? { text: words.none, commands: ['tollgate apis list'] } : { text: noneInState }
        }
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
          { title: columns.state, cell: (row) => <State of={states[row.state]} /> },
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
          {may('subscriptions:read') && <OwnAccess product={id} />}
        </Page>
      )}
    </Loaded>
  )
}

function OwnAccess({ product }: { readonly product: string }) {
  const reading = useRead('/v1/subscriptions', { query: { ApiProductId: product, limit: SHOWN } })
  return (
    <section>
      <h2>{words.yours}</h2>
      <Loaded reading={reading}>{({ items }) => <AccessList of={items} />}</Loaded>
    </section>
  )
}
