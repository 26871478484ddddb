/** Products: bundles of APIs with common subscriptions. */

import { change } from '../../api/client.ts'
import { DialogButton } from '../../parts/dialog.tsx'
import { List } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { notify } from '../../parts/toast.tsx'
import { Id, toNumber } from '../../parts/values.tsx'
import { BASE, go, segment } from '../../router.ts'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { ProductForm, type ProductInput } from './form.tsx'
import { ProductPage } from './product.tsx'

const words = texts.products

export function Products() {
  const id = segment(1)
  return id === '' ? <ProductList /> : <ProductPage key={id} id={id} />
}

function ProductList() {
  const create = async (input: ProductInput): Promise<void> => {
    const { id } = await change('POST /v1/products', {}, input)
    notify(words.created)
    go(`products/${encodeURIComponent(id)}`)
  }
  return (
    <Page
      title={words.title}
      actions={
        scopes.value.has('products:write') && (
          <DialogButton name="create" label={words.create} isMain>
            {() => <ProductForm first={{ name: '', apis: [] }} submit={words.create} onSubmit={create} />}
          </DialogButton>
        )
      }
    >
      <List
        path="/v1/products"
        caption={words.title}
        keyOf={({ id }) => id}
        columns={[
          {
            title: words.name,
            cell: ({ id, name }) => (
              <a href={`${BASE}products/${encodeURIComponent(id)}`}>
                <bdi>{name}</bdi>
              </a>
            ),
          },
          { title: words.apis, isNumber: true, cell: ({ apis }) => toNumber(apis.length) },
          { title: words.id, cell: ({ id }) => <Id value={id} /> },
        ]}
        empty={{
          text: words.none,
          commands: ['tollgate products create --name Payments --apis payments-v1,payouts-v1'],
        }}
      />
    </Page>
  )
}
