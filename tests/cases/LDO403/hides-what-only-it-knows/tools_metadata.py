CREATE = {"capabilities": ["x.orders.create"]}
