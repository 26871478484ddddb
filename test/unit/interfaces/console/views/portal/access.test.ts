import { describe, expect, it } from 'vitest'
import { accessTo, mayCall, type Subscription } from '../../../../../../src/interfaces/console/views/portal/access.ts'

const to = (id: string, target: Partial<Subscription>): Subscription =>
  ({ id, ApiId: null, ApiProductId: null, state: 'Active', ...target }) as Subscription

describe('the access of a consumer to an API', () => {
  const direct = to('sub_1', { ApiId: 'ledger-v1', state: 'Pending' })
  const products = [
    { id: 'prd_with', apis: ['shop-v1', 'ledger-v1'] },
    { id: 'prd_without', apis: ['shop-v1'] },
  ]
  const all = [
    direct,
    to('sub_2', { ApiId: 'shop-v1' }),
    to('sub_3', { ApiProductId: 'prd_with' }),
    to('sub_4', { ApiProductId: 'prd_without' }),
  ]

  it('is that of the API itself, and of products that contain it', () => {
    const found = accessTo('ledger-v1', [direct], all, products)
    expect(found.map(({ id }) => id)).toEqual(['sub_1', 'sub_3'])
    expect(mayCall(found)).toBe(true)
    expect(mayCall([direct])).toBe(false)
  })

  it('includes products that are not known, because the gateway decides', () => {
    expect(accessTo('ledger-v1', [], all, []).map(({ id }) => id)).toEqual(['sub_3', 'sub_4'])
  })
})
